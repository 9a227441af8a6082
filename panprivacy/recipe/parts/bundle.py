"""Who may have the reports of a recipe with a joint key, with which its result is recomputed."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from panprivacy.formats.errors import FieldError
from panprivacy.formats.parameters import as_typed
from panprivacy.recipe.parts.interface import Part, PartField, Subject

FIELD = "bundle"


class BundleAccess(StrEnum):
    """Who may have them, once there is a result."""

    PUBLIC = "public"
    """Any client, without an account."""

    AUDITORS = "auditors"
    """Accounts of the site: auditors, analysts and administrators."""


class BundlePart(Part[BundleAccess, BundleAccess]):
    """`auditors`; a recipe without the part gives its bundle to any client."""

    name = FIELD
    fields = (
        PartField(
            name=FIELD,
            label="Who may recompute the result",
            help="With the encrypted reports and their tokens others can check the result. What is published "
            "stays published: a later quantum computer could decrypt single reports, randomized as devices "
            "sent them.",
            meaning="Who may have the encrypted reports, to recompute the result (experimental: no outside "
            "review).",
            choices=(
                (BundleAccess.PUBLIC.value, "The public"),
                (BundleAccess.AUDITORS.value, "Auditors and analysts of this site"),
            ),
        ),
    )
    has_section = True

    def fields_of(self, subject: Subject) -> tuple[str, ...]:
        return self.field_names if subject.servers.publishes_reports else ()

    def read_file(self, fields: Mapping[str, object]) -> BundleAccess | None:
        value = fields[FIELD]
        # A list or an object is no value of an enum, and is not hashable.
        if not isinstance(value, str) or value not in set(BundleAccess):
            raise FieldError(FIELD, f"must be {' or '.join(BundleAccess)}, not {as_typed(value)}")
        return None if value == BundleAccess.PUBLIC else BundleAccess(value)

    def file_fields(self, value: BundleAccess) -> dict[str, Any]:
        return {FIELD: value.value}

    def read_document(self, fields: Mapping[str, object]) -> BundleAccess:
        value = self.read_file(fields)
        if value is None:
            raise FieldError(FIELD, f"must be {BundleAccess.AUDITORS}, or left out for the public")
        return value

    def document_fields(self, value: BundleAccess) -> dict[str, Any]:
        return {FIELD: value.value}

    def published(self, value: BundleAccess | None, made: BundleAccess | None) -> BundleAccess | None:
        if made is not None:
            raise ValueError("who may have the bundle is the draft's: nothing may be made for it")
        return value

    def without_names(self, value: BundleAccess) -> None:
        """No guarantee depends on it."""


PART = BundlePart()

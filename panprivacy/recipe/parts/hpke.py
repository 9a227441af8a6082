"""With which KEM devices seal what they send, where HPKE seals it: shares, requests through a relay, and
requests for tokens."""

from collections.abc import Mapping
from typing import Any

from panprivacy.formats.errors import FieldError
from panprivacy.formats.parameters import as_typed
from panprivacy.protocols.hpke import KemName
from panprivacy.recipe.parts.admission import ADMISSION
from panprivacy.recipe.parts.interface import Part, PartField, PartialRecipe, Subject
from panprivacy.recipe.parts.relay import RELAY
from panprivacy.statistics.trust_models import TRUST_MODELS

FIELD = "hpke"


def is_sealed(recipe: PartialRecipe) -> bool:
    """Whether HPKE seals anything of this recipe."""
    return bool(TRUST_MODELS[recipe.trust].sealed_shares) or bool({RELAY, ADMISSION} & recipe.parts.keys())


class HpkePart(Part[KemName, KemName]):
    """In a file: the name of the KEM. In a document: `x-wing`, or nothing for X25519."""

    name = FIELD
    fields = (
        PartField(
            name=FIELD,
            label="Sealed with",
            help="X-Wing (ML-KEM-768 with X25519) keeps recorded traffic secret from a later quantum "
            "computer. Browsers have X25519 only. The default is X25519 if this site names origins of "
            "browser devices, otherwise X-Wing.",
            meaning="The KEM with which devices seal what they send.",
            choices=(
                ("", "This site’s default"),
                (KemName.X_WING.value, "X-Wing: no browsers"),
                (KemName.X25519.value, "X25519: browsers too"),
            ),
        ),
    )

    def fields_of(self, subject: Subject) -> tuple[str, ...]:
        return self.field_names if subject.servers.report_format is not None else ()

    def read_file(self, fields: Mapping[str, object]) -> KemName:
        value = fields[FIELD]
        # A list or an object is no value of an enum, and is not hashable.
        if not isinstance(value, str) or value not in set(KemName):
            raise FieldError(FIELD, f"must be {' or '.join(KemName)}, not {as_typed(value)}")
        return KemName(value)

    def file_fields(self, value: KemName) -> dict[str, Any]:
        return {FIELD: value.value}

    def read_document(self, fields: Mapping[str, object]) -> KemName:
        value = self.read_file(fields)
        if value is KemName.X25519:
            raise FieldError(FIELD, f"must be {KemName.X_WING}, or left out for {KemName.X25519}")
        return value

    def document_fields(self, value: KemName) -> dict[str, Any]:
        return {FIELD: value.value}

    def published(self, value: KemName | None, made: KemName | None) -> KemName | None:
        """`made` is the KEM of the draft, or the default; None if nothing is sealed."""
        if value not in (None, made):
            raise ValueError("the KEM must be the draft's")
        return made if made is KemName.X_WING else None

    def check(self, recipe: PartialRecipe) -> None:
        if FIELD in recipe.parts and not is_sealed(recipe):
            raise FieldError(
                FIELD, "must be left out: without a relay, tokens or two servers, HPKE seals nothing"
            )

    def without_names(self, value: KemName) -> None:
        """No guarantee depends on it."""


PART = HpkePart()

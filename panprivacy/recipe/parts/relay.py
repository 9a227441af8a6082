"""Whether devices of a recipe speak to its servers through a relay only."""

from collections.abc import Mapping
from typing import Any

from panprivacy.formats.errors import FieldError
from panprivacy.formats.parameters import as_typed
from panprivacy.recipe.parts.interface import Part, PartField, PartialRecipe, Subject
from panprivacy.statistics.trust_models.members import require_url

RELAY = "relay"


class RelayPart(Part[bool, str]):
    """In a file: true. In a document: the address at the relay that leads to the publishing site, without a
    trailing slash."""

    name = RELAY
    fields = (
        PartField(
            name=RELAY,
            label="How reports travel",
            help="A relay hides from the servers which address a report comes from, and cannot read it.",
            meaning="The only address by which devices reach the servers.",
            choices=((False, "Directly to the servers"), (True, "Through a relay only")),
        ),
    )
    made_when_published = True
    has_section = True

    def fields_of(self, subject: Subject) -> tuple[str, ...]:
        return self.field_names if subject.servers.report_format is not None else ()

    def read_file(self, fields: Mapping[str, object]) -> bool | None:
        value = fields[RELAY]
        if not isinstance(value, bool):
            raise FieldError(RELAY, f"must be true or false, not {as_typed(value)}")
        return value or None

    def file_fields(self, value: bool) -> dict[str, Any]:
        return {RELAY: value}

    def read_document(self, fields: Mapping[str, object]) -> str:
        return require_url(RELAY, fields[RELAY])

    def document_fields(self, value: str) -> dict[str, Any]:
        return {RELAY: value}

    def check(self, recipe: PartialRecipe) -> None:
        reason = recipe.parameters.needs_relay
        if reason and RELAY not in recipe.parts:
            raise FieldError(RELAY, f"must be there: {reason}")


PART = RelayPart()

"""Which round of a repeated recipe a document is: a field that only published documents have."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from panprivacy.formats.errors import FieldError
from panprivacy.formats.parameters import Description, as_typed
from panprivacy.recipe.parts.interface import PartField, SimplePart, Subject
from panprivacy.statistics.device_input import DeviceInput

FIELD = "round"

MOST_ROUNDS = 10_000
NUMBER = Description(label="Round", help="Number of the round.", minimum=1, maximum=MOST_ROUNDS)

_HASH = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, kw_only=True)
class RoundPlace:
    """A round's place.

    Attributes:
        of: identifier of the document of all rounds (`rounds.document.PublishedRounds`).
        number: from 1.
        input: identifier of the round's public input (`rounds.public_input.RoundInput`); None if there is
            none.
    """

    of: str
    number: int
    input: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """The value of the document's field, as plain JSON values."""
        own = {"of": self.of, "number": self.number}
        return own if self.input is None else {**own, "input": self.input}

    @classmethod
    def from_members(cls, value: object) -> Self:
        """Inverse of `as_dict`, strict; FieldError for anything else."""
        if not isinstance(value, Mapping) or not {"of", "number"} <= set(value) <= {"of", "number", "input"}:
            raise FieldError(
                FIELD, f"must have the fields of, number and at most input, not {as_typed(value)}"
            )
        return cls(
            of=require_hash("round.of", value["of"]),
            number=NUMBER.check("round.number", int, value["number"]),
            input=require_hash("round.input", value["input"]) if "input" in value else None,
        )


def require_hash(field: str, value: object) -> str:
    """FieldError unless `value` is a SHA-256 of 64 lower-case hexadecimal digits."""
    if not isinstance(value, str) or not _HASH.fullmatch(value):
        raise FieldError(field, f"must be 64 lower-case hexadecimal digits, not {as_typed(value)}")
    return value


class RoundPart(SimplePart[RoundPlace]):
    """The place of a recipe among the rounds of another document; absent if it is no round."""

    name = FIELD
    fields = (
        PartField(
            name=FIELD,
            label="Round",
            help="Its place among the rounds of one recipe.",
            meaning="Which round of a recipe in rounds it is.",
        ),
    )
    in_files = False
    made_when_published = True
    has_section = True

    def fields_of(self, subject: Subject) -> tuple[str, ...]:
        added_up = subject.statistic.device_input in (DeviceInput.EVENTS, DeviceInput.RANDOMIZED)
        return self.field_names if added_up and subject.servers.has_rounds else ()

    def read(self, fields: Mapping[str, object]) -> RoundPlace:
        return RoundPlace.from_members(fields[FIELD])

    def written(self, value: RoundPlace) -> dict[str, Any]:
        return {FIELD: value.as_dict()}

    def without_names(self, value: RoundPlace) -> None:
        """No guarantee of a single round depends on it."""


PART = RoundPart()

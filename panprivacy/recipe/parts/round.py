"""Which round of a repeated recipe a document is: a field that only published documents have."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from panprivacy.formats.errors import FieldError
from panprivacy.formats.parameters import Description, as_typed

FIELD = "round"
"""Field of documents that is absent if the recipe is no round of a series. Recipe files never have it."""

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

    def members(self) -> dict[str, Any]:
        """The document's field, as plain JSON values."""
        own = {"of": self.of, "number": self.number}
        return own if self.input is None else {**own, "input": self.input}

    @classmethod
    def from_members(cls, value: object) -> Self:
        """Inverse of `members`, strict; FieldError for anything else."""
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


def document_members(asked: RoundPlace | None) -> dict[str, Any]:
    """The field of a document, if it is set."""
    return {} if asked is None else {FIELD: asked.members()}

"""The public input of a round, e.g. the model that devices improve: a signed document."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self, cast

from panprivacy.formats.canonical_json import NoCanonicalFormError, canonical_json
from panprivacy.formats.errors import FieldError
from panprivacy.recipe.parts.round import NUMBER, require_hash
from panprivacy.recipe.signed_documents import SignedDocument

FORMAT = "panapp-round-input-1"

MOST_BYTES = 512 * 1024
"""Most bytes of an input's canonical JSON: devices fetch it in one answer."""


MOST_LEVELS = 100
"""Most objects and lists inside each other in an input, itself counted: far fewer than any reader's limit."""


@dataclass(frozen=True, kw_only=True)
class RoundInput(SignedDocument):
    """The public input of one round.

    Attributes:
        of: identifier of the document of all rounds.
        number: of the round, from 1.
        content: any JSON object.
    """

    of: str
    number: int
    content: Mapping[str, Any]
    format: str = FORMAT

    @classmethod
    def made(cls, *, of: str, number: int, content: object) -> Self:
        """FieldError named `input` if `content` is no JSON object of at most `MOST_BYTES` and
        `MOST_LEVELS`."""
        if not isinstance(content, Mapping):
            raise FieldError("input", "must be a JSON object")
        _require_shallow(content)
        try:
            # In the form that its readers get: numbers that are not finite, for example, have no JSON.
            canonical = canonical_json(content)
        except NoCanonicalFormError as error:
            raise FieldError("input", f"has no canonical form: {error}") from None
        if len(canonical) > MOST_BYTES:
            raise FieldError("input", f"must be at most {MOST_BYTES:,} bytes, not {len(canonical):,}")
        return cls(of=of, number=number, content=json.loads(canonical))

    @classmethod
    def from_document(cls, document: Mapping[str, object]) -> Self:
        if set(document) != {"format", "of", "number", "input"}:
            raise FieldError("input", "must be a document with exactly format, of, number and input")
        number: int = NUMBER.check("number", int, document["number"])
        return cls.made(of=require_hash("of", document["of"]), number=number, content=document["input"])

    @property
    def document(self) -> dict[str, Any]:
        return {"format": self.format, "of": self.of, "number": self.number, "input": dict(self.content)}


def _require_shallow(content: Mapping[str, Any]) -> None:
    """Level by level, without recursion: each holds what is inside the level above."""
    level: list[object] = [content]
    for _ in range(MOST_LEVELS):
        held = (
            inside
            for outer in level
            for inside in (outer.values() if isinstance(outer, Mapping) else cast(list[object], outer))
        )
        level = [inside for inside in held if isinstance(inside, Mapping | list | tuple)]
        if not level:
            return
    raise FieldError("input", f"must be nested at most {MOST_LEVELS} levels deep")

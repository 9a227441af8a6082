"""The parameters of algorithms that count how often each item appears, so that no two may share a place."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from panprivacy.formats.errors import FieldError
from panprivacy.formats.parameters import described
from panprivacy.statistics.streams.parameters import HASHED, LISTED, NUMBERED, StreamParameters

MOST_APPEARANCES: Mapping[str, Any] = {
    "label": "Largest number of appearances",
    "help": "How often an item appears at most. If one appears more often, the error may exceed its bound.",
    "minimum": 1,
    "maximum": 1_000_000,
}


@dataclass(frozen=True, kw_only=True)
class CounterParameters(StreamParameters):
    """Items that are known one by one: listed or numbered."""

    items: str = described(
        label="Items",
        help="Listed: a list that is known when the recipe is published. Numbered: the whole numbers from 0 "
        "to the universe size − 1.",
        choices=(LISTED, NUMBERED),
        default=LISTED,
    )

    def __post_init__(self) -> None:
        if self.items == HASHED:
            raise FieldError(
                "items",
                "must not be hashed here: items in one place would be counted together; list the items in "
                "`universe`, or choose items = numbered",
            )
        super().__post_init__()

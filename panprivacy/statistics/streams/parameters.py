"""The public parameters that every stream recipe has, and those of algorithms with counters."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from panprivacy.formats.errors import FieldError
from panprivacy.formats.parameters import PublicParameters, described

ITEM_LIST, NUMBERED, HASHED = "listed", "numbered", "hashed"
MULTI_SCALE = "many_sizes"
"""Types of samples (`sample.Sample.draw`); the first three are also types of items."""

MOST_APPEARANCES: Mapping[str, Any] = {
    "label": "Largest number of appearances",
    "help": "How often an item appears at most. If one appears more often, the error may exceed its bound.",
    "minimum": 1,
    "maximum": 1_000_000,
}
"""Description of N, the largest number of appearances of an item."""


@dataclass(frozen=True, kw_only=True)
class StreamParameters(PublicParameters):
    """A universe, the table over a sample of it, and the intrusions to survive."""

    epsilon: float = described(
        label="Privacy loss of each intrusion (ε)",
        help="A smaller ε protects an item more. The state alone costs ε, and so does the result.",
        minimum=1e-6,
        usual_minimum=0.01,
        maximum=0.5,  # beyond, the two distributions of a bit differ by more than e^ε (PPS Claim 3.1)
    )
    universe_size: int = described(
        label="Universe size",
        help="Number of items that could appear in the stream.",
        minimum=1,
        maximum=1_000_000_000,
    )
    items: str = described(
        label="Items",
        help="Listed: a list that is known when the recipe is published. Numbered: the whole numbers from 0 "
        "to the universe size − 1. Hashed: anything; the universe size is the number of places.",
        choices=(ITEM_LIST, NUMBERED, HASHED),
        default=HASHED,
    )
    table_size: int = described(
        label="Table size",
        help="Number of randomly drawn items that have a place in the state. More places make the result "
        "more precise and weaken no protection.",
        minimum=1,
        usual_minimum=100,
        maximum=1_000_000,
    )
    announced_intrusions: int = described(
        label="Announced intrusions",
        help="How often the state may be read on purpose. 0 is the most precise and the most private choice. "
        "After each, everything is randomized again, which costs much precision. An allowed one "
        "costs privacy even if it is never made.",
        minimum=0,
        maximum=20,
        default=1,
    )

    @property
    def sample_kind(self) -> str:
        """The type of the sample that gives items their cells."""
        return self.items

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.table_size > self.universe_size:
            raise FieldError(
                "table_size",
                f"must be at most the universe size of {self.universe_size:,}, not {self.table_size:,}",
            )


@dataclass(frozen=True, kw_only=True)
class CounterParameters(StreamParameters):
    """Items that are known one by one, listed or numbered: counters need that no two share a place."""

    items: str = described(
        label="Items",
        help="Listed: a list that is known when the recipe is published. Numbered: the whole numbers from 0 "
        "to the universe size − 1.",
        choices=(ITEM_LIST, NUMBERED),
        default=ITEM_LIST,
    )

    def __post_init__(self) -> None:
        if self.items == HASHED:
            raise FieldError(
                "items",
                "must not be hashed here: items in one place would be counted together; list the items in "
                "`universe`, or choose items = numbered",
            )
        super().__post_init__()

"""Which fraction of the universe appears at least once (PPS Figure 1, Theorem 3.2)."""

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from panprivacy.formats.errors import FieldError
from panprivacy.formats.parameters import described
from panprivacy.intervals.estimate import Estimate
from panprivacy.statistics.streams.bit_table import BitTable
from panprivacy.statistics.streams.density_readings import DensityReading, HashedItems, KnownItems
from panprivacy.statistics.streams.interface import CONFIDENCE, require_confidence
from panprivacy.statistics.streams.multiplicative_density import ManySizes
from panprivacy.statistics.streams.parameters import HASHED, LISTED, MULTI_SCALE, NUMBERED, StreamParameters
from panprivacy.statistics.streams.state import StreamState

ADDITIVE, MULTIPLICATIVE = "additive", "multiplicative"

READINGS: dict[str, type[DensityReading]] = {
    LISTED: KnownItems,
    NUMBERED: KnownItems,
    HASHED: HashedItems,
    MULTI_SCALE: ManySizes,
}
"""Kind of sample → how its tables are read."""


@dataclass(frozen=True, kw_only=True)
class DensityParameters(StreamParameters):
    """A table of bits, or one for each of several sets of places."""

    accuracy: str = described(
        label="Accuracy",
        help="Additive: the same error, whatever the result. Multiplicative: a smaller error if few "
        "items appear and a larger one if many do, because ε is divided over several tables.",
        choices=(ADDITIVE, MULTIPLICATIVE),
        default=ADDITIVE,
    )

    @property
    def sample_kind(self) -> str:
        return MULTI_SCALE if self.accuracy == MULTIPLICATIVE else self.items

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.accuracy == MULTIPLICATIVE and self.items != HASHED:
            raise FieldError(
                "items",
                "must be hashed if the accuracy is multiplicative: state `universe_size`, no `universe`",
            )
        if self.items == HASHED and self.universe_size < 2:
            raise FieldError("universe_size", "must be at least 2 if items are hashed")


class Density(BitTable[DensityParameters]):
    """A bit for each cell, touched by every appearance of its item.

    However often an item appears, its bit follows D₁; if it does not, D₀. The projection is the closest value
    between 0 and 1.
    """

    statistic = "density"
    title = "Items that appear"
    description = "Estimates which fraction of all possible items appears at least once."
    unit = "of all items"
    state_description = (
        "One random bit for each item that has a place, at first the toss of a fair coin. Whenever the "
        "item comes, the bit is tossed again with a slightly biased coin. One bit reveals hardly anything "
        "about its item; many together show how many items came."
    )
    parameters_class = DensityParameters
    detail_labels: ClassVar = {
        "saturated": (
            "Saturated",
            "Yes if the table may be nearly full: then the result could be far too low.",
        ),
        "set_size": ("Size of the set that was read", "In places; the result decides which set is read."),
        "set_density": ("Share of it that was touched", "Estimated, without correction for collisions."),
    }
    labels = ("items that appear at least once",)
    largest = 1.0

    def __init__(self, parameters: DensityParameters) -> None:
        super().__init__(parameters)
        self._reading = READINGS[parameters.sample_kind](self)

    @property
    def tables(self) -> int:
        return READINGS[self.parameters.sample_kind].tables(self.parameters)

    @property
    def theorem(self) -> str:
        return (
            "PPS Theorem 3.2" if self.tables == 1 else f"PPS Theorem 3.2, with ε/{self.tables} for each table"
        )

    def process(self, state: StreamState, cell: int, random_source: random.Random) -> None:
        distributions = self.distributions(state.announced_intrusions)
        state.arrays["bits"][cell] = distributions.draw_present(1, random_source)[0]

    def process_batch(
        self, state: StreamState, cells: NDArray[np.int64], random_source: random.Random
    ) -> None:
        distributions = self.distributions(state.announced_intrusions)
        # Of a cell that comes more than once the last draw stays, as in `process`.
        state.arrays["bits"][cells] = distributions.draw_present(cells.size, random_source)

    def estimate(
        self, state: StreamState, random_source: random.Random, confidence: float = CONFIDENCE
    ) -> Estimate:
        require_confidence(confidence)
        shares = self.noisy_shares(state, random_source)
        return self._reading.read(shares, state.announced_intrusions, confidence)

    def truth(self, counts: Mapping[Any, int]) -> tuple[float, ...]:
        return (sum(count > 0 for count in counts.values()) / self.parameters.universe_size,)

    def expected_error_bound(self, confidence: float = CONFIDENCE, announced_intrusions: int = 0) -> float:
        require_confidence(confidence)
        return self._reading.expected_error_bound(confidence, announced_intrusions)

    @property
    def expected_note(self) -> str:
        return self._reading.expected_note

"""Which fraction of the universe appears at least once: the density estimator (PPS Figure 1, Theorem 3.2).

A bit for each item of a sample follows D₀ while its item has not come, and D₁ once it has, however often. The
share of bits from D₁ is the density of listed or numbered items. Hashed items share places, so the density
follows from the share of touched places. `multiplicative_density` reads several tables.
"""

import math
import random
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from panprivacy.accounting import discrete_laplace
from panprivacy.formats.errors import FieldError
from panprivacy.formats.parameters import described
from panprivacy.formats.registry import Registry
from panprivacy.statistics.intervals.estimate import LEVELS, Estimate, Interval
from panprivacy.statistics.intervals.exact import intervals
from panprivacy.statistics.intervals.touched_cells import TouchedCells
from panprivacy.statistics.streams.deviation import (
    BoundedErrors,
    ErrorPart,
    LaplaceErrors,
    deviation,
    table_sampling,
)
from panprivacy.statistics.streams.draws import with_laplace_noise
from panprivacy.statistics.streams.hashed_places import LARGEST_STANDARD_ERROR, HashedPlaces
from panprivacy.statistics.streams.interface import CONFIDENCE, count_announcement, require_confidence
from panprivacy.statistics.streams.item_bits import BitDistributions, TouchedBits, total_epsilon
from panprivacy.statistics.streams.parameters import (
    HASHED,
    ITEM_LIST,
    MULTI_SCALE,
    NUMBERED,
    StreamParameters,
)
from panprivacy.statistics.streams.state import StreamState
from panprivacy.statistics.streams.user_level import UserLevelStatistic

P = TypeVar("P", bound=StreamParameters)

ADDITIVE, MULTIPLICATIVE = "additive", "multiplicative"

_MORE_CAME = "None is stated: the table shows that more different items came than the universe has."


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


class BitTable(UserLevelStatistic[P]):
    """Tables of `table_size` bits, as in Figure 1: what density and cropped mean have in common.

    An item has at most one bit in each table. A bit that was drawn from D₁ at least once is *touched*. The
    estimate is the share of touched bits of each table. ε is divided over the tables, because one item may
    have a bit in each.

    State: `bits`, one per cell, table after table.
    """

    @property
    def tables(self) -> int:
        """How many tables there are."""
        return 1

    @property
    def table_epsilon(self) -> Fraction:
        """The most that each intrusion into one table costs, and also the result from it."""
        return Fraction(self.parameters.epsilon) / self.tables

    @property
    @abstractmethod
    def theorem(self) -> str:
        """The result of the paper that the guarantee follows from, e.g. "PPS Theorem 3.2"."""

    @property
    def bit_epsilon(self) -> Fraction:
        return self.table_epsilon

    def distributions(self, announced_intrusions: int) -> BitDistributions:
        """The distributions of untouched and touched bits after this number of announced intrusions."""
        return BitDistributions.after(self.table_epsilon, announced_intrusions)

    def start(self, random_source: random.Random) -> StreamState:
        # Figure 1, Init: every bit of the table from D₀.
        original = BitDistributions.original(self.table_epsilon)
        bits = original.draw_absent(self.tables * self.parameters.table_size, random_source)
        return StreamState(self.statistic, arrays={"bits": bits})

    def announce_intrusion(self, state: StreamState, random_source: random.Random) -> None:
        # Section 3, "Handling Multiple Announced Intrusions": every bit again, by its value.
        count_announcement(state, self.parameters.announced_intrusions)
        BitDistributions.original(self.table_epsilon).redraw(state.arrays["bits"], random_source)

    def noisy_counts(self, state: StreamState, random_source: random.Random) -> NDArray[np.int64]:
        """The number of ones in each table, which one item changes by at most 1, with noise of scale 1/ε.

        In print, the noise is added after the division by ε/4 instead, and costs 4 there, whatever ε is.
        """
        # Figure 1, Output: noise, ahead of all that is computed from the number of ones.
        ones = state.arrays["bits"].reshape(self.tables, -1).sum(axis=1, dtype=np.int64)
        return with_laplace_noise(ones, 1 / self.table_epsilon, random_source)

    def noisy_shares(self, state: StreamState, random_source: random.Random) -> list[float]:
        """The share of touched bits of each table, unbiased, with the noise of a release."""
        distributions = self.distributions(state.announced_intrusions)
        # Figure 1, Output: θ, the fraction of ones.
        fractions = self.noisy_counts(state, random_source) / self.parameters.table_size
        # Figure 1, Output: f′ = 4(θ − 1/2)/ε. D₀ has ones with 1/2, and D₁ with ε/4 more.
        shares: list[float] = ((fractions - float(distributions.absent)) / distributions.distance).tolist()
        return shares

    def share_variance(self, share: float, announced_intrusions: int) -> float:
        """Of one of `noisy_shares` if `share` of the table's bits are touched, from 0 to 1."""
        size = self.parameters.table_size
        distributions = self.distributions(announced_intrusions)
        present, absent = float(distributions.present), float(distributions.absent)
        # Bits of both distributions, and the noise of the result; divided by D₁'s distance from D₀.
        per_bit = share * present * (1 - present) + (1 - share) * absent * (1 - absent)
        noise = discrete_laplace.variance(1 / self.table_epsilon)
        return (size * per_bit + noise) / (size * distributions.distance) ** 2

    def share_bound(
        self, sampling: ErrorPart, announced_intrusions: int, failure_probability: float
    ) -> float:
        """The bound that the distance of one of `noisy_shares` from the share in the whole universe exceeds
        with this probability.

        Args:
            sampling: the error by the choice of the table's items.
        """
        size = self.parameters.table_size
        distance = self.distributions(announced_intrusions).distance
        # Theorem 3.2, Utility, with constants: the bits, the noise and the sample, by Chernoff's bound.
        noise = LaplaceErrors(1 / self.table_epsilon, np.array([1 / (size * distance)]))
        bits = BoundedErrors(1 / (size * distance**2))
        return deviation([bits, noise, sampling], failure_probability)

    def share_intervals(
        self, share: float, announced_intrusions: int, drawn: float, most: int, unit: float
    ) -> tuple[Interval, ...]:
        """For the share in the whole universe, times `unit`, by exact tests.

        Args:
            share: one of `noisy_shares`.
            drawn: how many of the table's items are drawn with replacement; the rest represents the universe
                exactly.
            most: the share has steps of 1/`most`.
        """
        distributions, size = self.distributions(announced_intrusions), self.parameters.table_size
        present, absent = float(distributions.present), float(distributions.absent)
        cells = TouchedCells(size, drawn, most, absent, present, 1 / self.table_epsilon)
        ones = round(size * (absent + share * distributions.distance))
        return intervals(cells, [ones], most, unit / most)

    def total_epsilon(self, announced_intrusions: int) -> float:
        return self.tables * total_epsilon(self.table_epsilon, announced_intrusions, self.table_epsilon)

    @property
    def source(self) -> str:
        return (
            f"{self.theorem}: at most ε for the intrusion and ε for the result, with noise on the count of "
            "ones before scaling. Computed exactly, as the largest loss over all that can be seen and all "
            "appearances."
        )


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
        return self._reading.tables

    @property
    def theorem(self) -> str:
        return (
            "PPS Theorem 3.2" if self.tables == 1 else f"PPS Theorem 3.2, with ε/{self.tables} for each table"
        )

    def count_item(self, state: StreamState, cell: int) -> tuple[TouchedBits]:
        # Figure 1, Processing: the item's bit from D₁, whatever it is.
        return self.count_batch(state, np.array([cell]))

    def count_batch(self, state: StreamState, cells: NDArray[np.int64]) -> tuple[TouchedBits]:
        return (TouchedBits(state.arrays["bits"], cells, self.distributions(state.announced_intrusions)),)

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


class DensityReading(ABC):
    """Reads the density from the shares of a table, or of several, by the type of sample."""

    def __init__(self, table: BitTable[Any]) -> None:
        self.table = table
        self.universe_size: int = table.parameters.universe_size
        self.table_size: int = table.parameters.table_size

    @property
    def tables(self) -> int:
        """How many tables are kept."""
        return 1

    @abstractmethod
    def read(self, shares: Sequence[float], announced_intrusions: int, confidence: float) -> Estimate:
        """The density.

        Args:
            shares: of touched bits, one for each table (`BitTable.noisy_shares`).
        """

    expected_note: ClassVar[str] = ""
    """The condition of `expected_error_bound`, as a clause."""

    @abstractmethod
    def expected_error_bound(self, confidence: float, announced_intrusions: int) -> float:
        """The largest to expect, under the condition of `expected_note`."""


class KnownItems(DensityReading):
    """Items that are listed or numbered: each has a bit of its own, and the share is the density."""

    def read(self, shares: Sequence[float], announced_intrusions: int, confidence: float) -> Estimate:
        (share,) = shares
        within = min(max(share, 0.0), 1.0)
        left_out = (self.universe_size - self.table_size) / max(1, self.universe_size - 1)
        variance = self.table.share_variance(within, announced_intrusions)
        variance += left_out * within * (1 - within) / self.table_size
        return Estimate(
            values=(share,),
            standard_errors=(math.sqrt(variance),),
            standard_error_note=(
                "Includes the randomized bits, the noise of the result, and the random choice of the table's "
                "items."
            ),
            projection=(within,),
            error_bounds=(self._bound(announced_intrusions, confidence),),
            confidence=confidence,
            intervals=self.table.share_intervals(
                share, announced_intrusions, self.table_size * left_out, self.universe_size, 1.0
            ),
        )

    def _bound(self, announced_intrusions: int, confidence: float) -> float:
        sampling = table_sampling(self.table_size, self.universe_size)
        return self.table.share_bound(sampling, announced_intrusions, 1 - confidence)

    def expected_error_bound(self, confidence: float, announced_intrusions: int) -> float:
        return self._bound(announced_intrusions, confidence)


class HashedItems(DensityReading):
    """Items that are hashed to as many places as the universe has items, so that some share a place.

    If nearly every place is touched, the number of items cannot be estimated. Then the intervals have no
    upper end, and the estimate's details have `saturated`.

    The intervals hold for any number of items. The error bound and the standard error assume no more items
    than the universe has. Neither is stated if the table shows that there are more, with the confidence of
    the bound. Otherwise a standard error is stated if and only if it would be small enough
    (`LARGEST_STANDARD_ERROR`) even if every item came, so that this does not depend on the stream.
    """

    def __init__(self, table: BitTable[Any]) -> None:
        super().__init__(table)
        self._places = HashedPlaces(self.universe_size)

    def read(self, shares: Sequence[float], announced_intrusions: int, confidence: float) -> Estimate:
        (share,) = shares
        places = self._places
        bound = self._bound(announced_intrusions, confidence)
        density = places.items(share) / self.universe_size
        saturated = share + bound >= places.full
        # Not by the share that came: it would be low whenever there is a standard error.
        largest = self._standard_error(places.touched(self.universe_size), announced_intrusions)
        error_bound = self._error_bound(share, bound)
        is_stated = largest <= LARGEST_STANDARD_ERROR and error_bound is not None
        return Estimate(
            values=(density,),
            standard_errors=(self._standard_error(share, announced_intrusions),) if is_stated else (),
            standard_error_note=(
                "Includes the randomized bits, the noise of the result, and the random places of the items; "
                "by the delta method."
                if is_stated
                else _MORE_CAME
                if error_bound is None
                else "None is stated: if nearly all items came, the table is too small to estimate how many."
            ),
            projection=(min(max(density, 0.0), 1.0),),
            error_bounds=() if error_bound is None else (error_bound,),
            confidence=None if error_bound is None else confidence,
            intervals=tuple(self._interval(share, announced_intrusions, level) for level in LEVELS),
            details={"saturated": saturated},
        )

    def _interval(self, share: float, announced_intrusions: int, level: float) -> Interval:
        """The interval of the density, for any number of items."""
        bound = self._bound(announced_intrusions, level)
        ends = (share - bound, share + bound)
        low, high = (max(0.0, self._places.items(end)) / self.universe_size for end in ends)
        return Interval(level, (low,), (None if share + bound >= self._places.full else high,))

    def _error_bound(self, share: float, bound: float) -> float | None:
        """Of the density, if the share may be off by `bound` and no more items come than the universe has;
        None if the two cannot both be."""
        density = self._places.items(share) / self.universe_size
        lowest, highest = (
            self._places.items(end) / self.universe_size for end in (share - bound, share + bound)
        )
        if lowest > 1:
            return None
        return max(density - max(lowest, 0.0), abs(min(max(highest, 0.0), 1.0) - density))

    def _standard_error(self, share: float, announced_intrusions: int) -> float:
        """Of the density, by the delta method, if `share` of the places are touched, at most nearly all."""
        touched = min(max(share, 0.0), self._places.full)
        variance = self.table.share_variance(touched, announced_intrusions)
        variance += self._places.variance(touched, self.table_size)
        return self._places.slope(touched) / self.universe_size * math.sqrt(variance)

    def _bound(self, announced_intrusions: int, confidence: float) -> float:
        return self.table.share_bound(hashing_errors(self.table_size), announced_intrusions, 1 - confidence)

    expected_note = "if at most half of all items come"

    def expected_error_bound(self, confidence: float, announced_intrusions: int) -> float:
        """At most 1, the error of the projection."""
        bound = self._bound(announced_intrusions, confidence)
        highest = self._places.touched(self.universe_size / 2) + bound
        # It grows with the share up to the size of the universe; from there only the lower end grows.
        last = self._places.touched(self.universe_size) - bound
        bounds = (self._error_bound(share, bound) for share in (min(highest, last), highest))
        return min(1.0, max(1.0 if found is None else found for found in bounds))


READINGS: Registry[type[DensityReading]] = Registry(
    __package__,
    {
        ITEM_LIST: "density:KnownItems",
        NUMBERED: "density:KnownItems",
        HASHED: "density:HashedItems",
        MULTI_SCALE: "multiplicative_density:MultiScaleReading",
    },
)
"""Type of sample → how its tables are read."""


def hashing_errors(table_size: int) -> BoundedErrors:
    """The share of touched places among `table_size`, less the expected share (`HashedPlaces`)."""
    return BoundedErrors(1 / table_size)

"""Which fraction of the universe appeared at least k times: the k-heavy hitters estimator (PPS Figure 3,
Theorem 4.1).

Cropped means for growing thresholds t_j give that fraction. Let e_j be the t_j-cropped mean and
g_j = (e_{j+1} − e_j)/(t_{j+1} − t_j). Figure 3 estimates the fraction v_j of items between t_j and t_{j+1},
from above downwards, by v_j = 2g_j − 2g_{j+1} − v_{j+1}. Heavy hitters lie in any interval from the threshold
t_i on, so their fraction is the sum of v_j over j ≥ i. It telescopes to 2·(g_i − g_{i+1} + g_{i+2} − …).
Nothing below t_i enters: the tables begin there. Because appearances are whole numbers, we take k − 1/2 for
it.

What an item with x appearances adds to that sum is 0 up to t_i. It then goes up to 2 and down to 0, from one
threshold to the next. It is 1 on average only if x is spread evenly over two neighbouring intervals. So an
item's appearances count r_x times, with log r_x uniform between −log(1 + ρ) and log(1 + ρ). Then what it adds
is on average exactly 1 if it appears at least (1 + ρ)·t_i times, 0 if at most t_i/(1 + ρ) times, and between
0 and 1 otherwise. (Printed: r_x uniform in 1..1 + ρ, which is one interval only. It counts an item up to half
too much or too little.)

The last threshold is at least 1 + ρ times the largest number of appearances, so that no item is beyond it.
"""

import math
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from panprivacy.accounting import discrete_laplace
from panprivacy.formats.errors import FieldError
from panprivacy.formats.parameters import described
from panprivacy.statistics.intervals.estimate import Estimate
from panprivacy.statistics.streams import draws, item_bits
from panprivacy.statistics.streams.deviation import BoundedErrors, LaplaceErrors, deviation, table_sampling
from panprivacy.statistics.streams.draws import with_laplace_noise
from panprivacy.statistics.streams.interface import (
    CONFIDENCE,
    CloseStreams,
    count_announcement,
    require_confidence,
)
from panprivacy.statistics.streams.item_bits import BitDistributions, TouchedBits
from panprivacy.statistics.streams.parameters import MOST_APPEARANCES, CounterParameters
from panprivacy.statistics.streams.state import StreamState
from panprivacy.statistics.streams.user_level import UserLevelStatistic

MOST_PLACES = 20_000_000
"""Of all tables together: 180 MB."""

UNIT = 1 << 30
"""One appearance: multiplicities and thresholds are whole numbers of its 2³⁰th parts."""


@dataclass(frozen=True)
class ThresholdLevels:
    """The thresholds for `k`, `rho` and the largest number of appearances `n_max`, at least k."""

    k: int
    rho: float
    n_max: int

    @property
    def thresholds(self) -> tuple[float, ...]:
        """t_i = k − 1/2, t_i·(1 + ρ), t_i·(1 + ρ)², … up to at least (1 + ρ)·n_max: three or more."""
        # Figure 3, Init, step 2: powers of 1 + ρ, from k − 1/2 on instead of 1.
        ratio = 1 + self.rho
        found = [self.k - 0.5]
        while found[-1] < self.n_max * ratio:
            found.append(found[-1] * ratio)
        return tuple(found)

    @property
    def units(self) -> tuple[int, ...]:
        """The thresholds as multiples of 1/UNIT, rounded."""
        return tuple(round(threshold * UNIT) for threshold in self.thresholds)

    @property
    def weights(self) -> tuple[float, ...]:
        """c_j such that the fraction of heavy hitters is Σ c_j·e_j/t_j."""
        # Figure 3, Output, step 3 (a) to (e), for all levels at once: 2·(g_i − g_{i+1} + g_{i+2} − …). In it
        # g_j has the weight t_{j+1}/(t_{j+1} − t_j) of e_{j+1}/t_{j+1}, and −t_j/(t_{j+1} − t_j) of e_j/t_j.
        thresholds = self.thresholds
        found = [0.0] * len(thresholds)
        sign = 2.0
        for index, (lower, upper) in enumerate(pairwise(thresholds)):
            found[index] -= sign * lower / (upper - lower)
            found[index + 1] += sign * upper / (upper - lower)
            sign = -sign
        return tuple(found)


@dataclass(frozen=True, kw_only=True)
class HeavyHittersParameters(CounterParameters):
    """A threshold, and the tables that see past it."""

    epsilon: float = described(
        label="Privacy loss of each table (ε)",
        help="A smaller ε protects an item more. The state costs ε for every table, the result ε once.",
        minimum=1e-6,
        usual_minimum=0.01,
        maximum=0.5,
    )
    k: int = described(
        label="Threshold (k)",
        help="An item with at least k appearances is a heavy hitter.",
        minimum=1,
        maximum=1_000_000,
    )
    rho: float = described(
        label="Blur (ρ)",
        help="A number of appearances near k may count as if it were up to 1 + ρ times larger or smaller. A "
        "smaller ρ takes more tables and a larger universe.",
        minimum=0.05,
        maximum=1,
        default=1.0,
    )
    n_max: int = described(**MOST_APPEARANCES)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.n_max < self.k:
            raise FieldError("n_max", f"must be at least the k of {self.k:,}, not {self.n_max:,}")
        tables = len(self.levels.thresholds)
        if tables * self.table_size > MOST_PLACES:
            raise FieldError(
                "table_size",
                f"must be at most {MOST_PLACES // tables:,}, because there are {tables} tables; or raise ρ",
            )

    @property
    def levels(self) -> ThresholdLevels:
        """The thresholds of the tables."""
        return ThresholdLevels(self.k, self.rho, self.n_max)


class HeavyHitters(UserLevelStatistic[HeavyHittersParameters]):
    """A cropped mean for each of several thresholds, of appearances that count r_x times.

    State, in units of 2⁻³⁰ appearances: `multiplicities` r_x, one per cell, drawn at the start and not
    secret. `counters` of shape (tables, cells), each modulo its threshold and with a uniformly random start.
    `bits` of the same shape, from D₀, each drawn from D₁ whenever its counter wraps around. Counters are
    perfectly private, bits cost at most ε each. Result: the numbers of ones, each with discrete Laplace noise
    of scale L/ε for L tables, so that together they cost ε. All other results are computed from them.

    The value is unbiased for a (1 + ρ)-close stream, in which no item appears more than 1 + ρ times more or
    less often. Items with at least (1 + ρ)·(k − 1/2) appearances count, those with at most (k − 1/2)/(1 + ρ)
    do not, and those between count in part. Standard errors and error bounds are about that; `truth` is of
    the stream itself, and the same if no item lies between. `close_streams` has the range around both.

    An announced intrusion starts the counters anew, which loses wraps, like the cropped mean. The error bound
    then includes how much that could change the value, and is hardly ever of use.
    """

    statistic = "heavy_hitters"
    title = "Items that appear at least k times"
    description = (
        "Estimates which fraction of all possible items appeared at least k times. Numbers near k may be "
        "misjudged. Needs a large universe."
    )
    unit = "of all items"
    state_description = (
        "A counter and a random bit for every item that has a place, for each of several thresholds. A "
        "counter starts at a random number and turns over at its threshold, so its value reveals nothing. "
        "Whenever it turns over, the bit is tossed again with a slightly biased coin."
    )
    parameters_class = HeavyHittersParameters
    detail_labels: ClassVar = {
        "counted_from": ("Counted from", "This many appearances and more count in full."),
        "not_counted_up_to": (
            "Not counted up to",
            "This many appearances and fewer do not count; in between, they count in part.",
        ),
        "tables": ("Tables", "The result was put together from this many thresholds."),
    }
    fixed_point: ClassVar[Mapping[str, int]] = {"multiplicities": UNIT, "counters": UNIT}
    largest = 1.0

    def __init__(self, parameters: HeavyHittersParameters) -> None:
        super().__init__(parameters)
        self._moduli = np.array(parameters.levels.units, dtype=np.int64)
        self._weights = np.array(parameters.levels.weights)
        self._output_epsilon = Fraction(parameters.epsilon) / self.tables
        self.errors = LevelErrors(
            self._weights, parameters.table_size, parameters.universe_size, 1 / self._output_epsilon
        )

    @property
    def tables(self) -> int:
        """The number of tables."""
        return len(self._moduli)

    @property
    def labels(self) -> tuple[str, ...]:
        return (f"at least {self.parameters.k:,} times",)

    def start(self, random_source: random.Random) -> StreamState:
        # Figure 3, Init, step 3: a table for each t_i, with bits from D₀ and counters that start anywhere.
        size = self.parameters.table_size
        bits = self._distributions(0).draw_absent(self.tables * size, random_source)
        # Step 4: r_x for each item of the table.
        exponents = draws.below(size, 1 << 53, random_source) / 2.0**52 - 1  # uniform in −1..1
        multiplicities = ((1 + self.parameters.rho) ** exponents * UNIT).astype(np.int64)
        return StreamState(
            self.statistic,
            arrays={
                "multiplicities": multiplicities,
                "counters": self._fresh_counters(random_source),
                "bits": bits.reshape(self.tables, size),
            },
        )

    def _fresh_counters(self, random_source: random.Random) -> NDArray[np.int64]:
        size = self.parameters.table_size
        rows = [draws.below(size, modulus, random_source) for modulus in self._moduli.tolist()]
        return np.array(rows, dtype=np.int64)

    def count_item(self, state: StreamState, cell: int) -> Iterator[TouchedBits]:
        # Figure 3, Processing: in every table as if the item had come r_x times.
        counters = state.arrays["counters"]
        for table, modulus in enumerate(self._moduli.tolist()):
            moved = int(counters[table, cell]) + int(state.arrays["multiplicities"][cell])
            counters[table, cell] = moved % modulus
            if moved >= modulus:
                yield self._touched(state, table, np.array([cell]))

    def count_batch(self, state: StreamState, cells: NDArray[np.int64]) -> Iterator[TouchedBits]:
        counters = state.arrays["counters"]
        seen, appearances = np.unique(cells, return_counts=True)
        step = appearances * state.arrays["multiplicities"][seen]
        for table, modulus in enumerate(self._moduli.tolist()):
            moved = counters[table, seen] + step
            counters[table, seen] = moved % modulus
            # Once or more often: only the last draw would be seen.
            yield self._touched(state, table, seen[moved >= modulus])

    def _touched(self, state: StreamState, table: int, cells: NDArray[np.int64]) -> TouchedBits:
        return TouchedBits(
            state.arrays["bits"][table], cells, self._distributions(state.announced_intrusions)
        )

    def _distributions(self, announced_intrusions: int) -> BitDistributions:
        return BitDistributions.after(self.parameters.epsilon, announced_intrusions)

    def announce_intrusion(self, state: StreamState, random_source: random.Random) -> None:
        count_announcement(state, self.parameters.announced_intrusions)
        self._distributions(0).redraw(state.arrays["bits"], random_source)
        state.arrays["counters"][:] = self._fresh_counters(random_source)

    def noisy_counts(self, state: StreamState, random_source: random.Random) -> NDArray[np.int64]:
        """The number of ones in each table, with noise. One item changes each number by at most 1."""
        ones = state.arrays["bits"].sum(axis=1, dtype=np.int64)
        return with_laplace_noise(ones, 1 / self._output_epsilon, random_source)

    def estimate(
        self, state: StreamState, random_source: random.Random, confidence: float = CONFIDENCE
    ) -> Estimate:
        announced_intrusions = state.announced_intrusions
        error_bound = self.expected_error_bound(confidence, announced_intrusions)
        distributions = self._distributions(announced_intrusions)
        # Figure 3, Output, step 1: θ of each table, and e_j/t_j from it.
        fractions = self.noisy_counts(state, random_source) / self.parameters.table_size
        wrapped = (fractions - float(distributions.absent)) / distributions.distance
        # Steps 2 and 3; step 4 corrected to the sum (errata); its noise is already in `noisy_counts`.
        value = float(self._weights @ wrapped)
        projection = min(max(value, 0.0), 1.0)
        return Estimate(
            values=(value,),
            standard_errors=()
            if announced_intrusions
            else (self.errors.standard_error(projection, distributions.distance),),
            standard_error_note=(
                "There is none: after an announced intrusion the value is biased by an unknown amount."
                if announced_intrusions
                else "An upper bound, about a close stream: includes the bits, the multiplicities, the noise "
                "of the result, and the random choice of the table's items."
            ),
            projection=(projection,),
            error_bounds=(error_bound,),
            confidence=confidence,
            details={
                "counted_from": self.close_streams.counted_from,
                "not_counted_up_to": self.close_streams.not_counted_up_to,
                "tables": self.tables,
            },
        )

    def truth(self, counts: Mapping[Any, int]) -> tuple[float, ...]:
        heavy = sum(count >= self.parameters.k for count in counts.values())
        return (heavy / self.parameters.universe_size,)

    @property
    def close_streams(self) -> CloseStreams:
        threshold, ratio = self.parameters.levels.thresholds[0], 1 + self.parameters.rho
        return CloseStreams(
            counted_from=threshold * ratio,
            not_counted_up_to=threshold / ratio,
            universe_size=self.parameters.universe_size,
        )

    def total_epsilon(self, announced_intrusions: int) -> float:
        return self.tables * item_bits.total_epsilon(
            self.parameters.epsilon, announced_intrusions, self._output_epsilon
        )

    @property
    def source(self) -> str:
        return (
            f"PPS Theorem 4.1 with {self.tables} tables: at most ε for each table and intrusion, and ε "
            "for the result, with noise on the ones of every table; computed exactly, as the largest loss "
            "over everything that can be seen and all appearances."
        )

    @property
    def bit_epsilon(self) -> float:
        return self.parameters.epsilon

    def expected_error_bound(self, confidence: float = CONFIDENCE, announced_intrusions: int = 0) -> float:
        require_confidence(confidence)
        distance = self._distributions(announced_intrusions).distance
        return self.errors.bound(distance, announced_intrusions, 1 - confidence)


class LevelErrors:
    """How far the fraction of heavy hitters may be off for a close stream.

    By the bits, the multiplicities, the noise of the result, and the choice of the table's items.

    The distance is `BitDistributions.distance`: how much a bit reveals about its item.
    """

    def __init__(
        self,
        weights: NDArray[np.float64],
        table_size: int,
        universe_size: int,
        noise_scale: Fraction,
    ) -> None:
        """Args:
        weights: of the tables (`ThresholdLevels.weights`).
        noise_scale: of the noise on each table's number of ones.
        """
        self._weights = weights
        self._table_size = table_size
        self._universe_size = universe_size
        self._noise_scale = noise_scale

    def standard_error(self, fraction: float, distance: float) -> float:
        """An upper bound if no intrusion was announced and this fraction are heavy hitters."""
        size, universe_size = self._table_size, self._universe_size
        scale = self._weights / distance
        noise = discrete_laplace.variance(self._noise_scale) / size**2
        variance = float((scale**2).sum()) * (0.25 / size + noise)
        left_out = (universe_size - size) / max(1, universe_size - 1)
        # Each item adds a number from 0 to 2 with mean `fraction`, whose square is at most twice that.
        return math.sqrt(variance + (2 * fraction + left_out * fraction * (1 - fraction)) / size)

    def bound(self, distance: float, announced_intrusions: int, failure_probability: float) -> float:
        """What the error exceeds with at most this probability."""
        size = self._table_size
        phases = announced_intrusions + 1
        # An item with x < t appearances should have wrapped with probability x/t; spread over several phases
        # it did with 1 − (1 − x/(t·phases))^phases at least, and x = t loses most. Tables with weights of one
        # sign may have lost it, and the others not.
        lost = (1 - 1 / phases) ** phases * np.abs(self._weights)
        shift = max(float(lost[self._weights > 0].sum()), float(lost[self._weights < 0].sum()))
        width = 1 + float(lost.sum())
        scale = self._weights / distance / size
        sampling = table_sampling(size, self._universe_size)
        return shift + deviation(
            [
                BoundedErrors(size * float((scale**2).sum())),  # bits, given the multiplicities
                BoundedErrors((1 + width) ** 2 / size),  # multiplicities: each item adds 0..2
                BoundedErrors(sampling.squared_widths * width**2),
                LaplaceErrors(self._noise_scale, scale),
            ],
            failure_probability,
        )

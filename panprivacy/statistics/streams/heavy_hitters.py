"""Which fraction of the universe appeared at least k times (PPS Figure 3, Theorem 4.1)."""

import random
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from panprivacy.formats.errors import FieldError
from panprivacy.formats.parameters import described
from panprivacy.intervals.estimate import Estimate
from panprivacy.statistics.streams import draws, item_bits
from panprivacy.statistics.streams.counter_parameters import MOST_APPEARANCES, CounterParameters
from panprivacy.statistics.streams.interface import CONFIDENCE, require_confidence
from panprivacy.statistics.streams.intrusions import count_announcement
from panprivacy.statistics.streams.item_bits import BitDistributions
from panprivacy.statistics.streams.ladder import UNIT, Ladder
from panprivacy.statistics.streams.ladder_errors import LadderErrors
from panprivacy.statistics.streams.result_noise import with_laplace_noise
from panprivacy.statistics.streams.state import StreamState
from panprivacy.statistics.streams.user_level import UserLevelStatistic

MOST_PLACES = 20_000_000
"""Of all tables together: 180 MB."""


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
        tables = len(self.ladder.thresholds)
        if tables * self.table_size > MOST_PLACES:
            raise FieldError(
                "table_size",
                f"must be at most {MOST_PLACES // tables:,}, as there are {tables} tables; or raise ρ",
            )

    @property
    def ladder(self) -> Ladder:
        """The thresholds of the tables."""
        return Ladder(self.k, self.rho, self.n_max)


class HeavyHitters(UserLevelStatistic[HeavyHittersParameters]):
    """A cropped mean for each of several thresholds, of appearances that count r_x times (see `ladder`).

    State, in units of 2⁻³⁰ appearances: `multiplicities` r_x, one per cell, drawn at the start and of no
    secrecy; `counters` of shape (tables, cells), each modulo its threshold and with a uniformly random
    start; `bits` of the same shape, from D₀, each drawn from D₁ whenever its counter wraps around. Counters
    are perfectly private, bits cost at most ε each. Result: the numbers of ones, each with discrete Laplace
    noise of scale L/ε for L tables, so that together they cost ε; all else is computed from them.

    The value is unbiased for a (1 + ρ)-close stream, in which no item appears more than 1 + ρ times more or
    less often: items with at least (1 + ρ)·(k − 1/2) appearances count, those with at most
    (k − 1/2)/(1 + ρ) do not, and those between count in part. Standard errors and error bounds are about
    that; `truth` is of the stream itself, and the same if no item lies between. `truth_range` is around both.

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
        ladder = parameters.ladder
        self._moduli = np.array(ladder.units, dtype=np.int64)
        self._weights = np.array(ladder.weights)
        self._output_epsilon = Fraction(parameters.epsilon) / self.tables
        self.errors = LadderErrors(
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
        size = self.parameters.table_size
        bits = self._distributions(0).draw_absent(self.tables * size, random_source)
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

    def process(self, state: StreamState, cell: int, random_source: random.Random) -> None:
        counters, bits = state.arrays["counters"], state.arrays["bits"]
        distributions = self._distributions(state.announced_intrusions)
        for table, modulus in enumerate(self._moduli.tolist()):
            moved = int(counters[table, cell]) + int(state.arrays["multiplicities"][cell])
            counters[table, cell] = moved % modulus
            if moved >= modulus:
                bits[table, cell] = distributions.draw_present(1, random_source)[0]

    def process_batch(
        self, state: StreamState, cells: NDArray[np.int64], random_source: random.Random
    ) -> None:
        counters, bits = state.arrays["counters"], state.arrays["bits"]
        seen, appearances = np.unique(cells, return_counts=True)
        distributions = self._distributions(state.announced_intrusions)
        step = appearances * state.arrays["multiplicities"][seen]
        for table, modulus in enumerate(self._moduli.tolist()):
            moved = counters[table, seen] + step
            counters[table, seen] = moved % modulus
            wrapped = seen[moved >= modulus]  # once or more often: only the last draw would be seen
            bits[table, wrapped] = distributions.draw_present(wrapped.size, random_source)

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
        # The paper's θ, of each table.
        fractions = self.noisy_counts(state, random_source) / self.parameters.table_size
        wrapped = (fractions - float(distributions.absent)) / distributions.distance
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
                "counted_from": self._counted_from,
                "not_counted_up_to": self._not_counted_up_to,
                "tables": self.tables,
            },
        )

    def truth(self, counts: Mapping[Any, int]) -> tuple[float, ...]:
        heavy = sum(count >= self.parameters.k for count in counts.values())
        return (heavy / self.parameters.universe_size,)

    def truth_range(self, counts: Mapping[Any, int]) -> tuple[float, float]:
        """The fractions of items that count in full, and of those that count at all (of any close stream)."""
        in_full = sum(count >= self._counted_from for count in counts.values())
        at_all = sum(count > self._not_counted_up_to for count in counts.values())
        return in_full / self.parameters.universe_size, at_all / self.parameters.universe_size

    @property
    def _counted_from(self) -> float:
        return self.parameters.ladder.thresholds[0] * (1 + self.parameters.rho)

    @property
    def _not_counted_up_to(self) -> float:
        return self.parameters.ladder.thresholds[0] / (1 + self.parameters.rho)

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

    def bit_probabilities(self, announced_intrusions: int) -> tuple[float, float]:
        distributions = self._distributions(announced_intrusions)
        return float(distributions.absent), float(distributions.present)

    def expected_error_bound(self, confidence: float = CONFIDENCE, announced_intrusions: int = 0) -> float:
        require_confidence(confidence)
        distance = self._distributions(announced_intrusions).distance
        return self.errors.bound(distance, announced_intrusions, 1 - confidence)

"""Which fraction of the universe appeared exactly t times (PPS Figure 4, Theorem 5.1)."""

import math
import random
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from panprivacy.accounting import discrete_laplace
from panprivacy.formats.errors import FieldError
from panprivacy.formats.parameters import described
from panprivacy.intervals.estimate import Estimate
from panprivacy.statistics.streams.chosen_primes import chosen_pool
from panprivacy.statistics.streams.counter_parameters import MOST_APPEARANCES, CounterParameters
from panprivacy.statistics.streams.deviation import LaplaceErrors, deviation, table_sampling
from panprivacy.statistics.streams.interface import CONFIDENCE, require_confidence
from panprivacy.statistics.streams.intrusions import count_announcement
from panprivacy.statistics.streams.primes import most_divisors
from panprivacy.statistics.streams.residues import ResidueErrors, ResidueNoise
from panprivacy.statistics.streams.result_noise import with_laplace_noise
from panprivacy.statistics.streams.state import StreamState
from panprivacy.statistics.streams.user_level import UserLevelStatistic

UNBIASED_NOTE = (
    "An upper bound: includes the noise that the counters start with, the noise of the result, and the "
    "random choice of the table's items."
)
BIASED_NOTE = (
    "There is none: the smallest of several estimates is too low on average, and each of them counts items "
    "whose number of appearances is taken for t."
)


@dataclass(frozen=True, kw_only=True)
class IncidenceParameters(CounterParameters):
    """One number of appearances, and the largest possible one."""

    t: int = described(
        label="Appearances (t)",
        help="The number of appearances asked about.",
        minimum=0,
        maximum=1_000_000,
    )
    n_max: int = described(**MOST_APPEARANCES)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.t > self.n_max:
            raise FieldError(
                "t", f"must be at most the largest number of appearances of {self.n_max:,}, not {self.t:,}"
            )

    @property
    def largest_difference(self) -> int:
        """The largest difference between t and an item's number of appearances."""
        return max(self.t, self.n_max - self.t)


class Incidence(UserLevelStatistic[IncidenceParameters]):
    """Counters modulo a few random primes; the one that counts the fewest items is believed.

    State: `primes`, public, ℓ of them, drawn at the start; `counters`, of shape (ℓ, cells), each as in
    `ModIncidence` modulo its prime. Result: for each prime p the fraction of items that appeared t times
    modulo p, which is never below the wanted one on average; the smallest of them. Only the counts
    that enter it are made, with discrete Laplace noise of scale 2ℓ/ε.

    Each intrusion costs ε: all ℓ counters of an item are seen together, so each is protected with ε/ℓ, in the
    state and in the result.

    If a single prime above every difference of appearances is best (`chosen_pool`), the estimate is unbiased
    and has a standard error. Otherwise there is none: the smallest of several noisy numbers is too low on
    average, and items whose number of appearances is mistaken for t make it too high; the bound then relies
    on a stream that was not made with knowledge of the primes.
    """

    statistic = "incidence"
    title = "Items that appear exactly t times"
    description = "Estimates which fraction of all possible items appeared exactly t times."
    unit = "of all items"
    state_description = (
        "A counter for every item that has a place, for each of a few random primes. It counts modulo the "
        "prime and starts at a random number, 0 a little more often than others, so its value reveals "
        "hardly anything."
    )
    parameters_class = IncidenceParameters
    detail_labels: ClassVar = {
        "primes": ("Primes", "Appearances were counted modulo each of them."),
        "estimates": (
            "Estimate by each prime",
            "Each is too high on average, if at all; the smallest is the result.",
        ),
        "at_least": ("At least", "The lower end of what the error bound allows."),
        "at_most": ("At most", "The upper end of what the error bound allows."),
    }
    largest = 1.0

    def __init__(self, parameters: IncidenceParameters) -> None:
        super().__init__(parameters)
        self.pool, self.drawn = chosen_pool(
            parameters.epsilon, parameters.table_size, parameters.largest_difference
        )
        self._output_scale = 2 * self.drawn / Fraction(parameters.epsilon)

    @property
    def labels(self) -> tuple[str, ...]:
        return (f"exactly {self.parameters.t:,} times",)

    def _noise(self, prime: int) -> ResidueNoise:
        return ResidueNoise(prime, self.parameters.epsilon / self.drawn)

    def start(self, random_source: random.Random) -> StreamState:
        primes = sorted(random_source.sample(self.pool.primes, self.drawn))
        state = StreamState(
            self.statistic,
            arrays={
                "primes": np.array(primes, dtype=np.int16),
                "counters": np.zeros((self.drawn, self.parameters.table_size), dtype=np.int16),
            },
        )
        self._add_noise(state, random_source)
        return state

    def _add_noise(self, state: StreamState, random_source: random.Random) -> None:
        for prime, counters in zip(state.arrays["primes"].tolist(), state.arrays["counters"], strict=True):
            counters[:] = (counters + self._noise(prime).draw(len(counters), random_source)) % prime

    def process(
        self,
        state: StreamState,
        cell: int,
        random_source: random.Random,  # noqa: ARG002  # counting draws nothing
    ) -> None:
        counters = state.arrays["counters"]
        counters[:, cell] = (counters[:, cell] + 1) % state.arrays["primes"]

    def process_batch(
        self,
        state: StreamState,
        cells: NDArray[np.int64],
        random_source: random.Random,  # noqa: ARG002  # counting draws nothing
    ) -> None:
        seen, appearances = np.unique(cells, return_counts=True)
        for prime, counters in zip(state.arrays["primes"].tolist(), state.arrays["counters"], strict=True):
            counters[seen] = (counters[seen] + appearances) % prime

    def announce_intrusion(self, state: StreamState, random_source: random.Random) -> None:
        count_announcement(state, self.parameters.announced_intrusions)
        self._add_noise(state, random_source)

    def _offsets(self, prime: int, noises: int) -> NDArray[np.intp]:
        """How far below t, modulo `prime`, the values of a counter lie that enter its estimate."""
        return np.flatnonzero(self._noise(prime).inverse(noises))

    def noisy_counts(self, state: StreamState, random_source: random.Random) -> NDArray[np.int64]:
        """For one prime after the other, how many counters show each of the values that enter."""
        counts = [
            int(np.count_nonzero(counters == (self.parameters.t - offset) % prime))
            for prime, counters in zip(state.arrays["primes"].tolist(), state.arrays["counters"], strict=True)
            for offset in self._offsets(prime, state.announced_intrusions + 1).tolist()
        ]
        return with_laplace_noise(counts, self._output_scale, random_source)

    def estimate(
        self, state: StreamState, random_source: random.Random, confidence: float = CONFIDENCE
    ) -> Estimate:
        require_confidence(confidence)
        noises = state.announced_intrusions + 1
        primes = state.arrays["primes"].tolist()
        sizes = [self._offsets(prime, noises).size for prime in primes]
        noisy_counts = np.split(self.noisy_counts(state, random_source), np.cumsum(sizes)[:-1])
        estimates = [
            self._congruent(prime, noisy, noises) for prime, noisy in zip(primes, noisy_counts, strict=True)
        ]
        noise = max(self._noise_bound(prime, noises, confidence) for prime in primes)
        excess = self._excess(primes, confidence)
        value = min(estimates)
        projection = min(max(value, 0.0), 1.0)
        return Estimate(
            values=(value,),
            standard_errors=(self._standard_error(primes[0], noises, projection),)
            if self.tells_all_apart
            else (),
            standard_error_note=UNBIASED_NOTE if self.tells_all_apart else BIASED_NOTE,
            projection=(projection,),
            error_bounds=(noise + excess,),
            confidence=confidence,
            details={
                "primes": primes,
                "estimates": estimates,
                "at_least": max(value - noise - excess, 0.0),
                "at_most": min(max(value + noise, 0.0), 1.0),
            },
        )

    def _congruent(self, prime: int, noisy: NDArray[np.int64], noises: int) -> float:
        """The fraction of items that appeared t times modulo `prime`, unbiased, from its noisy counts."""
        weights = self._noise(prime).inverse(noises)[self._offsets(prime, noises)]
        return float(weights @ noisy) / self.parameters.table_size

    def _noise_bound(self, prime: int, noises: int, confidence: float) -> float:
        """How far `_congruent` may be off, for all primes together with half of what may fail."""
        table_size = self.parameters.table_size
        noise = self._noise(prime)
        return deviation(
            [
                ResidueErrors(noise, noises, table_size),
                LaplaceErrors(self._output_scale, noise.inverse(noises) / table_size),
                table_sampling(table_size, self.parameters.universe_size),
            ],
            (1 - confidence) / 2 / self.drawn,
        )

    @property
    def tells_all_apart(self) -> bool:
        """Whether one counter shows that no item with at most `n_max` appearances is mistaken for one with
        t."""
        return self.drawn == 1 and self.pool.primes[0] > self.parameters.largest_difference

    def _standard_error(self, prime: int, noises: int, fraction: float) -> float:
        """Of the fraction of items that appeared t times modulo `prime`, if it is `fraction`."""
        table_size, universe_size = self.parameters.table_size, self.parameters.universe_size
        noise = self._noise(prime)
        variance = ResidueErrors(noise, noises, table_size).variance_bound(fraction)
        weights = noise.inverse(noises)
        variance += discrete_laplace.variance(self._output_scale) * float(weights @ weights) / table_size**2
        left_out = (universe_size - table_size) / max(1, universe_size - 1)
        variance += left_out * fraction * (1 - fraction) / table_size
        return math.sqrt(variance)

    def _excess(self, primes: list[int], confidence: float) -> float:
        """How many items all these primes may mistake for items with t appearances."""
        difference = self.parameters.largest_difference
        if primes[-1] > difference:
            return 0.0
        certain = most_divisors(tuple(primes), difference) / len(primes)
        return min(certain, self.pool.excess(self.drawn, (1 - confidence) / 2))

    def truth(self, counts: Mapping[Any, int]) -> tuple[float, ...]:
        items = sum(count == self.parameters.t for count in counts.values())
        if self.parameters.t == 0:
            items += self.parameters.universe_size - len(counts)
        return (items / self.parameters.universe_size,)

    def total_epsilon(self, announced_intrusions: int) -> float:
        return (announced_intrusions + 2) * self.parameters.epsilon

    @property
    def source(self) -> str:
        return (
            f"PPS Theorem 5.2 for the {self.drawn} counters of an item, which share ε: together ε for each "
            "intrusion and ε for the result."
        )

    def expected_error_bound(self, confidence: float = CONFIDENCE, announced_intrusions: int = 0) -> float:
        """For the largest primes of the pool."""
        require_confidence(confidence)
        excess = self.pool.excess(self.drawn, (1 - confidence) / 2)
        return excess + self._noise_bound(self.pool.primes[-1], announced_intrusions + 1, confidence)

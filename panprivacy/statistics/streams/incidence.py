"""Which fraction of the universe appeared exactly t times: the t-incidence estimator (PPS Figure 4, Theorem
5.1).

An item that appeared n ≠ t times is taken for one that appeared t times modulo p if p divides n − t. Few
primes of a pool can: their product divides a number that is at most the largest |n − t|.
"""

import math
import random
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from panprivacy.accounting import discrete_laplace
from panprivacy.formats.errors import FieldError
from panprivacy.formats.parameters import described
from panprivacy.statistics.intervals.estimate import Estimate
from panprivacy.statistics.streams.deviation import LaplaceErrors, deviation, table_sampling
from panprivacy.statistics.streams.draws import with_laplace_noise
from panprivacy.statistics.streams.interface import CONFIDENCE, count_announcement, require_confidence
from panprivacy.statistics.streams.mod_incidence import ResidueErrors, ResidueNoise
from panprivacy.statistics.streams.parameters import MOST_APPEARANCES, CounterParameters
from panprivacy.statistics.streams.state import StreamState
from panprivacy.statistics.streams.user_level import UserLevelStatistic

LARGEST_POOL = 1_000
"""Primes up to 7,919: beyond, no table we allow estimates anything."""

MOST_DRAWN = 16

UNBIASED_NOTE = (
    "An upper bound: includes the noise that the counters start with, the noise of the result, and the "
    "random choice of the table's items."
)
BIASED_NOTE = (
    "There is none: the smallest of several estimates is too low on average, and each of them counts items "
    "whose number of appearances is taken for t."
)


@lru_cache(maxsize=1)
def smallest_primes() -> tuple[int, ...]:
    """The first LARGEST_POOL primes, by trial division."""
    primes: list[int] = []
    candidate = 2
    while len(primes) < LARGEST_POOL:
        if all(candidate % prime for prime in primes if prime * prime <= candidate):
            primes.append(candidate)
        candidate += 1
    return tuple(primes)


@dataclass(frozen=True)
class PrimePool:
    """Neighbouring primes. Some of them are drawn at random, without repetition.

    Attributes:
        size: how many primes are in the pool, at least 1.
        largest_difference: the largest |n − t| of any item, at least 1.
        left_out: how many primes are smaller than those of the pool.
    """

    size: int
    largest_difference: int
    left_out: int = 0

    @property
    def primes(self) -> tuple[int, ...]:
        """In ascending order."""
        return smallest_primes()[self.left_out : self.left_out + self.size]

    @staticmethod
    def collision_free(largest_difference: int) -> "PrimePool | None":
        """The smallest prime that divides no difference, alone; None if it is none of LARGEST_POOL."""
        left_out = bisect_right(smallest_primes(), largest_difference)
        return PrimePool(1, largest_difference, left_out) if left_out < LARGEST_POOL else None

    @cached_property
    def _colliding(self) -> int:
        """How many primes of the pool divide any difference at all."""
        return sum(prime <= self.largest_difference for prime in self.primes)

    @cached_property
    def _most_divisors(self) -> int:
        """How many different primes of the pool can divide one difference: the smallest ones fit best."""
        return most_divisors(self.primes, self.largest_difference)

    def excess(self, drawn: int, failure_probability: float) -> float:
        """A bound on the smallest excess among this number of drawn primes: the fraction of items that
        appeared t times modulo p, but not t times. It fails with at most this probability of the drawing.

        The excesses of all primes of the pool add up to d at most, if no difference has more than d of them
        as divisors. So at most b primes have an excess above d/(b + 1). The probability that all drawn ones
        are among them is C(b, drawn)/C(size, drawn). (Markov's inequality, as in the proof of PPS Theorem
        5.1, is d/size for the mean.)

        Args:
            drawn: at most `size`.
        """
        probability = 1 / math.comb(self.size, drawn)
        for colliding in range(drawn, self._colliding + 1):
            if probability > failure_probability:
                return min(1.0, self._most_divisors / colliding)
            probability *= (colliding + 1) / (colliding + 1 - drawn)
        return 0.0


def most_divisors(primes: tuple[int, ...], largest_difference: int) -> int:
    """How many of the primes, in ascending order, can divide one number from 1 to `largest_difference`."""
    product = 1
    for count, prime in enumerate(primes):
        product *= prime
        if product > largest_difference:
            return count
    return len(primes)


@lru_cache(maxsize=1_000)
def best_pool(epsilon: float, table_size: int, largest_difference: int) -> tuple[PrimePool, int]:
    """The pool of primes, and how many are drawn from it: those with the smallest expected error.

    The printed pool has the smallest (4 log N)/α primes. O(log(1/β)) of them are drawn, for an error α that
    the table must be made large enough for. Here the table is given. More and larger primes keep numbers of
    appearances apart better, and cost precision: of ℓ counters each has only ε/ℓ. A single prime above every
    difference keeps all of them apart, and is often best. Minimized is `PrimePool.excess` plus the noise's
    error for the largest prime of the pool, both at 95% confidence; if that is 1 or more whatever is chosen,
    both at 50%.
    """
    # Pools of the smallest primes, as in Figure 4, Init, and that of the one prime without collisions.
    sizes = sorted({math.ceil(1.15**step) for step in range(60)})
    pools = [PrimePool(size, largest_difference) for size in sizes if size <= LARGEST_POOL]
    collision_free = PrimePool.collision_free(largest_difference)
    if collision_free is not None:
        pools.append(collision_free)
    candidates = [(pool, drawn) for pool in pools for drawn in range(1, min(pool.size, MOST_DRAWN) + 1)]

    def error(candidate: tuple[PrimePool, int], failure_probability: float) -> float:
        pool, drawn = candidate
        prime = pool.primes[-1]
        step = epsilon / drawn / (prime - 1)
        # Two values of a counter count; an item shows either with the likeliest noise's probability at most.
        variance = (1 + math.exp(-2 * step)) / (math.expm1(-step) * math.expm1(-step * prime)) / table_size
        quantile = math.sqrt(2 * math.log(2 * drawn / failure_probability))
        return pool.excess(drawn, failure_probability) + quantile * math.sqrt(variance)

    # Own rule in place of the printed sizes: see the docstring.
    careful = min(candidates, key=lambda candidate: error(candidate, (1 - CONFIDENCE) / 2))
    if error(careful, (1 - CONFIDENCE) / 2) < 1:
        return careful
    return min(candidates, key=lambda candidate: error(candidate, 0.5))


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

    If a single prime above every difference of appearances is best (`best_pool`), the estimate is unbiased
    and has a standard error. Otherwise there is none. The smallest of several noisy numbers is too low on
    average, and items whose number of appearances is mistaken for t make it too high. The bound then relies
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
        self.pool, self.drawn = best_pool(
            parameters.epsilon, parameters.table_size, parameters.largest_difference
        )
        self._output_scale = 2 * self.drawn / Fraction(parameters.epsilon)

    @property
    def labels(self) -> tuple[str, ...]:
        return (f"exactly {self.parameters.t:,} times",)

    def _noise(self, prime: int) -> ResidueNoise:
        return ResidueNoise(prime, self.parameters.epsilon / self.drawn)

    def start(self, random_source: random.Random) -> StreamState:
        # Figure 4, Init: ℓ random primes p of the pool, and for each a counter modulo p (Figure 5) per item.
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

    def count_item(self, state: StreamState, cell: int) -> tuple[()]:
        # Figure 4, Processing: all counters of the item go up, each modulo its prime.
        counters = state.arrays["counters"]
        counters[:, cell] = (counters[:, cell] + 1) % state.arrays["primes"]
        return ()

    def count_batch(self, state: StreamState, cells: NDArray[np.int64]) -> tuple[()]:
        seen, appearances = np.unique(cells, return_counts=True)
        for prime, counters in zip(state.arrays["primes"].tolist(), state.arrays["counters"], strict=True):
            counters[seen] = (counters[seen] + appearances) % prime
        return ()

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
        # Figure 4, Output: for each prime the fraction of items that appeared t times modulo it.
        estimates = [
            self._congruent(prime, noisy, noises) for prime, noisy in zip(primes, noisy_counts, strict=True)
        ]
        noise = max(self._noise_bound(prime, noises, confidence) for prime in primes)
        excess = self._excess(primes, confidence)
        # Figure 4, Output: the smallest of them.
        value = min(estimates)
        projection = min(max(value, 0.0), 1.0)
        return Estimate(
            values=(value,),
            standard_errors=(self._standard_error(primes[0], noises, projection),)
            if self.is_collision_free
            else (),
            standard_error_note=UNBIASED_NOTE if self.is_collision_free else BIASED_NOTE,
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
    def is_collision_free(self) -> bool:
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

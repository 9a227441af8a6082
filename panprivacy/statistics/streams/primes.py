"""Which primes, and how many, separate numbers of appearances (PPS section 5).

An item that appeared n ≠ t times is taken for one that appeared t times modulo p if p divides n − t. Few
primes of a pool can: their product divides a number that is at most the largest |n − t|.
"""

import math
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property, lru_cache

LARGEST_POOL = 1_000
"""Primes up to 7,919: beyond, no table we allow estimates anything."""

MOST_DRAWN = 16


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
    def undeceivable(largest_difference: int) -> "PrimePool | None":
        """The smallest prime that divides no difference, alone; None if it is none of LARGEST_POOL."""
        left_out = bisect_right(smallest_primes(), largest_difference)
        return PrimePool(1, largest_difference, left_out) if left_out < LARGEST_POOL else None

    @cached_property
    def _deceivable(self) -> int:
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
        as divisors. So at most b primes have an excess above d/(b + 1); and that all drawn ones are
        among them has probability C(b, drawn)/C(size, drawn). (Markov's inequality, as in the proof of PPS
        Theorem 5.1, is d/size for the mean.)

        Args:
            drawn: at most `size`.
        """
        probability = 1 / math.comb(self.size, drawn)
        for deceived in range(drawn, self._deceivable + 1):
            if probability > failure_probability:
                return min(1.0, self._most_divisors / deceived)
            probability *= (deceived + 1) / (deceived + 1 - drawn)
        return 0.0


def most_divisors(primes: tuple[int, ...], largest_difference: int) -> int:
    """How many of the primes, in ascending order, can divide one number from 1 to `largest_difference`."""
    product = 1
    for count, prime in enumerate(primes):
        product *= prime
        if product > largest_difference:
            return count
    return len(primes)

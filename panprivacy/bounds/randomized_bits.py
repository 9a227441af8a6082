"""How many devices have a bit that is 1, seen from the number of ones among their randomized reports."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from panprivacy.accounting import binomial
from panprivacy.accounting.interface import LARGEST_N
from panprivacy.accounting.rounding import log_one_plus
from panprivacy.bounds import exact
from panprivacy.bounds.exact import Hypotheses, Numbers
from panprivacy.estimate import Interval

_RARE_RELEASE = 0.005
"""What less likely releases are allowed for as if they were: intervals have to end. Half of the one percent
from which on they are to hold, as the population is only known from the reports."""

_IMPOSSIBLE = 1e-6
"""A population that sends so few reports with less than this probability is larger than any considered."""


@dataclass(frozen=True)
class RandomizedBits:
    """The number of ones among n reports; the hypothesis is how many devices of the population have a 1.

    A device takes part with probability q. Of those that do, one with a 1 reports a 1 with probability
    `present`, any other with `absent`. With several `coins`, a report has so many bits, of which at most one
    is a 1, each reported so; the ones of all of them are counted.

    What is known is n, not the population. So A, how many of the n reports are of devices with a 1, is taken
    as Bin(hypothesis, q), and the observation as Bin(A, present) + Bin(n − A, absent). That is exact where
    q = 1. Otherwise A and n depend on each other. But of the observation only the part
    A·(present − absent) + n·absent is moved by that, and n is known: the tests compute coverage from the
    joint distribution. Where A exceeds n, the second binomial is that of a negative number: its generating
    function continued, which keeps mean and variance right.

    Attributes:
        reports: n, at least 1.
        absent, present: from 0 to 1, the former below the latter.
        sampling_rate: q, above 0.
        count_scale: scale of discrete Laplace noise Z in n, in reports; 0 where n is exact. Only the part
            n·absent of the observation depends on n, so the noise is taken to move it by Z·absent.
        coins: bits of a report that are counted together, at least 1: n·coins takes the place of n above.
        cohort: fewer reports are not released.
    """

    reports: int
    absent: float
    present: float
    sampling_rate: float = 1.0
    count_scale: float = 0.0
    coins: int = 1
    cohort: int = 1

    def mean(self, hypotheses: Hypotheses) -> Numbers:
        gain = (self.present - self.absent) * self.sampling_rate
        return np.asarray(self._bits * self.absent + hypotheses * gain)

    def variance(self, hypotheses: Hypotheses) -> Numbers:
        absent = self.absent * (1 - self.absent)
        gain = self.present * (1 - self.present) - absent
        gain += (1 - self.sampling_rate) * (self.present - self.absent) ** 2
        noise = 0.0
        if self.count_scale:
            noise = (self.coins * self.absent) ** 2 / (2 * math.sinh(1 / (2 * self.count_scale)) ** 2)
        return np.asarray(self._bits * absent + hypotheses * self.sampling_rate * gain + noise)

    def smoothness(self, hypotheses: Hypotheses) -> Numbers:
        return np.sqrt(replace(self, count_scale=0.0).variance(hypotheses))

    def log_characteristic(self, hypotheses: Hypotheses, angles: Numbers) -> NDArray[np.complex128]:
        turn = np.expm1(1j * angles)
        without = self.absent * turn
        ratio = (self.present - self.absent) * turn / (1 + without)
        found = self._bits * log_one_plus(without) + hypotheses * log_one_plus(self.sampling_rate * ratio)
        if self.count_scale:
            # φ(s) = 1 / (1 + (sin(s/2) / sinh(1/(2·scale)))²)
            ratio_of_sines = np.sin(self.coins * self.absent * angles / 2) / math.sinh(
                1 / (2 * self.count_scale)
            )
            found = found - np.log1p(ratio_of_sines**2)
        return np.asarray(found)

    def released(self, hypotheses: Hypotheses, ones: Hypotheses) -> Numbers:
        """About the probability that a cohort reports, or `_RARE_RELEASE` where it is less.

        The population is as many times the hypothesis as the reports are times those of devices with a 1.
        """
        with_bit = (ones - self._bits * self.absent) / (self.present - self.absent)
        with np.errstate(divide="ignore"):
            population = np.where(with_bit > 0, hypotheses * self.reports / with_bit, np.inf)
        population = np.clip(np.round(population), self.reports, LARGEST_N)
        found = binomial.upper_tail(self.cohort, population, self.sampling_rate, 1 - self.sampling_rate)
        return np.maximum(found, _RARE_RELEASE)

    @property
    def _bits(self) -> int:
        return self.reports * self.coins

    @property
    def most(self) -> int:
        """The largest population that may have sent the reports: n itself where everybody takes part."""
        n, rate = self.reports + math.ceil(-math.log(_IMPOSSIBLE) * self.count_scale), self.sampling_rate
        if rate == 1:
            return n
        low, high = n, math.ceil((n + 10 * math.sqrt(n) + 50) / rate)
        while high - low > 1:
            middle = (low + high) // 2
            if float(binomial.lower_tail(n, middle, rate, 1 - rate)) > _IMPOSSIBLE:
                low = middle
            else:
                high = middle
        return low


def intervals(bits: RandomizedBits, ones: Sequence[int], together: int | None = None) -> tuple[Interval, ...]:
    """For how many devices have each of several bits, from the number of ones of each; together.

    Args:
        together: as of `exact.intervals`.
    """
    if bits.sampling_rate == 1:  # who reports is not left to chance
        return exact.intervals(bits, ones, bits.most, together=together)
    return exact.intervals(bits, ones, bits.most, released=bits.released, together=together)

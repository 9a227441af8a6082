"""How many devices have a bit that is 1, seen from the number of ones among their randomized reports."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from panprivacy.accounting import binomial
from panprivacy.accounting.interface import LARGEST_N
from panprivacy.accounting.rounding import log_one_plus
from panprivacy.statistics.intervals import exact
from panprivacy.statistics.intervals.estimate import Interval
from panprivacy.statistics.intervals.exact import Hypotheses, Numbers
from panprivacy.statistics.intervals.release_rule import RARE_RELEASE, ReleaseRule

_UNLIKELY_SHARE = 0.05
"""Part of what may fail, for a population so small that such a number of reports hardly comes of it."""

_IMPOSSIBLE = 1e-6
"""A population that sends this few reports with less than this probability is beyond any considered one."""


@dataclass(frozen=True)
class RandomizedBits:
    """The number of ones among n reports; the hypothesis is how many devices of the population have a 1.

    A device takes part with probability q. Of those that do, one with a 1 reports a 1 with probability
    `present`, any other with `absent`. With several `coins`, a report has that number of bits, at most one of
    them a 1, each reported so; the ones of all of them are counted.

    What is known is n, not the population. So A, how many of the n reports are of devices with a 1, is taken
    as Bin(hypothesis, q), and the observation as Bin(A, present) + Bin(n − A, absent). That is exact if q =
    1. Otherwise A and n depend on each other. But of the observation only the part A·(present − absent) +
    n·absent is moved by that, and n is known: the tests compute coverage from the joint distribution. If A
    exceeds n, the second binomial is that of a negative number: its generating function continued, which
    keeps mean and variance right.

    Attributes:
        reports: the shown n, at least 1.
        absent, present: from 0 to 1, the former below the latter.
        sampling_rate: q, above 0.
        coins: bits of a report that are counted together, at least 1: n·coins takes the place of n above.
        rule: when there is a result. If n is shown with noise Z, only the part n·absent of the observation
            depends on n, so the noise is taken to move it by Z·absent.
    """

    reports: int
    absent: float
    present: float
    sampling_rate: float = 1.0
    coins: int = 1
    rule: ReleaseRule = field(default_factory=ReleaseRule)

    def mean(self, hypotheses: Hypotheses) -> Numbers:
        gain = (self.present - self.absent) * self.sampling_rate
        return np.asarray(self._bits * self.absent + hypotheses * gain)

    def variance(self, hypotheses: Hypotheses) -> Numbers:
        absent = self.absent * (1 - self.absent)
        gain = self.present * (1 - self.present) - absent
        gain += (1 - self.sampling_rate) * (self.present - self.absent) ** 2
        return np.asarray(self._bits * absent + hypotheses * self.sampling_rate * gain + self._noise_variance)

    @property
    def _noise_variance(self) -> float:
        return (self.coins * self.absent * self.rule.noise_deviation) ** 2

    def smoothness(self, hypotheses: Hypotheses) -> Numbers:
        return np.sqrt(self.variance(hypotheses) - self._noise_variance)

    def log_characteristic(self, hypotheses: Hypotheses, angles: Numbers) -> NDArray[np.complex128]:
        turn = np.expm1(1j * angles)
        without = self.absent * turn
        ratio = (self.present - self.absent) * turn / (1 + without)
        found = self._bits * log_one_plus(without) + hypotheses * log_one_plus(self.sampling_rate * ratio)
        return np.asarray(found + self.rule.log_characteristic(self.coins * self.absent * angles))

    def released(self, failure_probability: float) -> exact.Released:
        """About the probability that there is a result, or `RARE_RELEASE` if it is less.

        It depends on the population, which is as many times the hypothesis as the reports are times those of
        devices with a 1. Noise in the number of reports would make it too large half of the time, so a
        standard deviation is taken off. However noisy the ones are, the population has the devices of the
        hypothesis, and is so large that the reports are no surprise (`ReleaseRule.least_population`).

        Args:
            failure_probability: of an interval.
        """
        rule = self.rule
        if rule.reporting_rate == 1:  # which devices report is not left to chance
            return exact.release_of_all(failure_probability)
        shown = np.atleast_1d(np.asarray(self.reports, dtype=np.int64))
        surely = rule.least_population(shown, _UNLIKELY_SHARE * failure_probability)
        # A device with a 1 counts with probability q; any device sends a report with probability r.
        reports = np.maximum(1.0, shown - rule.noise_deviation) * (self.sampling_rate / rule.reporting_rate)

        def probability(hypotheses: Hypotheses, ones: Hypotheses) -> Numbers:
            with_bit = (ones - self._bits * self.absent) / (self.present - self.absent)
            with np.errstate(divide="ignore"):
                population = np.where(with_bit > 0, hypotheses * reports / with_bit, np.inf)
            population = np.clip(np.round(population), np.maximum(hypotheses, surely), LARGEST_N)
            return np.maximum(rule.probability(population), RARE_RELEASE)

        return probability

    @property
    def _bits(self) -> int:
        return self.reports * self.coins

    @property
    def most(self) -> int:
        """The largest population that may have sent the reports: n itself if all devices take part."""
        noise = math.ceil(-math.log(_IMPOSSIBLE) * self.rule.noise_scale)
        n, rate = self.reports + noise, self.sampling_rate
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


def intervals(
    bits: RandomizedBits, ones: Sequence[int], together: int | None = None, *, certain: bool = False
) -> tuple[Interval, ...]:
    """For how many devices have each of several bits, from the number of ones of each; together.

    Args:
        together: as in `exact.intervals`.
        certain: whether to take a result as certain to come out.
    """
    released = exact.release_of_all if certain else bits.released
    return exact.intervals(bits, ones, bits.most, released=released, together=together)


def ends(
    bits: RandomizedBits, ones: Sequence[int], failure_probability: float
) -> tuple[Hypotheses, Hypotheses]:
    """The lowest and the highest number of devices for each of several numbers of ones; `exact.bounds`."""
    return exact.bounds(bits, ones, bits.most, failure_probability, bits.released)

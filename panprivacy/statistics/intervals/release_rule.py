"""When a collection has a result, and with what probability."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from panprivacy.accounting import binomial, discrete_laplace, noisy_count
from panprivacy.statistics.intervals.exact import Hypotheses, Numbers, first

RARE_RELEASE = 0.005
"""Less likely releases are treated as this likely, because intervals have to end. It is half of the one
percent from which intervals must hold, because only the reports show the population."""

_DEVIATIONS = 12.0
_POINTS = 1_024
"""Probabilities of a release are computed at this number of populations, up to this number of standard
deviations of the number of reports from the cohort size, and interpolated."""

_NOISE_SCALES = 32.0
"""Noise is followed up to this number of its scales: 1e-14 is beyond."""

_BLOCKS = 128
"""Margins, and values of the noise, are grouped in this number of blocks, each at its mean. With the
interpolation, probabilities above 1e-3 are off by less than 1% of themselves."""


@dataclass(frozen=True)
class ReleaseRule:
    """How many reports a result needs, and how their number is shown.

    Attributes:
        cohort_size: B, at least 1: with fewer reports there is no result.
        reporting_rate: r, above 0 and at most 1: every device sends a report by a coin of its own.
        noisy: whether the number of reports is shown with noise, and a random margin beyond B is needed
            (`panprivacy.accounting.noisy_count`).
    """

    cohort_size: int = 1
    reporting_rate: float = 1.0
    noisy: bool = False

    @property
    def noise_scale(self) -> float:
        """Scale of the discrete Laplace noise in the number of reports, in reports; 0 if it is exact."""
        return float(noisy_count.scale(self.cohort_size)) if self.noisy else 0.0

    @property
    def noise_deviation(self) -> float:
        """Standard deviation of that noise, in reports."""
        return (
            math.sqrt(discrete_laplace.variance(noisy_count.scale(self.cohort_size))) if self.noisy else 0.0
        )

    def log_characteristic(self, angles: Numbers) -> Numbers:
        """ln E exp(i·t·Z) of the noise Z in the number of reports; real, because Z is symmetric.

        φ(t) = 1 / (1 + (sin(t/2) / sinh(1/(2·scale)))²).
        """
        if not self.noisy:
            return np.zeros_like(angles)
        return np.asarray(-np.log1p((np.sin(angles / 2) / math.sinh(1 / (2 * self.noise_scale))) ** 2))

    def probability(self, populations: Hypotheses) -> Numbers:
        """That there is a result, for each number of devices (any shape)."""
        rate = self.reporting_rate
        if not self.noisy:
            return binomial.upper_tail(self.cohort_size, populations, rate, 1 - rate)
        points, logarithms = _released(self.cohort_size, rate)
        return np.asarray(np.minimum(1.0, np.exp(np.interp(populations, points, logarithms))))

    def least_population(self, shown: Hypotheses, failure: float) -> Hypotheses:
        """The fewest devices that send at least `shown` reports, if there is a result, with more than
        `failure`; at least those with which a result is as likely as `RARE_RELEASE`.

        If only large numbers of reports have a result, a large one reveals little about the population: the
        test compares Pr[this number of reports, or more] / Pr[a result].

        Args:
            shown: numbers of reports, each at least 1; with noise if there is noise.
            failure: above 0 and below 1.
        """
        rate = self.reporting_rate
        noise, chances = self._noise()

        def is_possible(populations: Hypotheses) -> NDArray[np.bool_]:
            reached = np.maximum(np.round(shown[:, None] - noise), 0)
            likely = binomial.upper_tail(reached, populations[:, None], rate, 1 - rate) @ chances
            return np.asarray(likely > failure * self.probability(populations))

        most = np.ceil(np.asarray(shown, dtype=float) / rate).astype(np.int64)
        least = np.minimum(
            first(lambda tried: self.probability(tried) >= RARE_RELEASE, np.ones_like(most), most), most
        )
        return np.minimum(first(is_possible, least, most), most)

    def _noise(self) -> tuple[Numbers, Numbers]:
        """Values of the noise and their probabilities, in blocks."""
        if not self.noisy:
            return np.zeros(1), np.ones(1)
        reach = math.ceil(_NOISE_SCALES * self.noise_scale)
        values = np.arange(-reach, reach + 1)
        weights = np.exp(-np.abs(values) / self.noise_scale)
        return _blocks(values, weights / weights.sum())


@lru_cache(maxsize=64)
def _released(cohort_size: int, rate: float) -> tuple[Numbers, Numbers]:
    """Populations, and the logarithms of the probabilities of a release that needs a margin."""
    margins, chances = _blocks(
        np.arange(2 * noisy_count.usual_margin(cohort_size) + 1),
        noisy_count.margin_probabilities(cohort_size),
    )
    needed = cohort_size + np.round(margins)
    # Of the number of reports less the margin, at the largest population that is considered.
    own = discrete_laplace.variance(Fraction(1) / Fraction(noisy_count.margin_epsilon(cohort_size)))
    reach = _DEVIATIONS * (math.sqrt(needed[-1] * (1 - rate) + own) + 1)
    points = np.unique(
        np.linspace(max(0.0, cohort_size - reach) / rate, (needed[-1] + reach) / rate, _POINTS).round()
    )
    found = binomial.upper_tail(needed, points[:, None], rate, 1 - rate) @ chances
    return points, np.log(np.maximum(found, 1e-300))


def _blocks(values: NDArray[np.int64], weights: Numbers) -> tuple[Numbers, Numbers]:
    """The same distribution in at most `_BLOCKS` values: the means of neighbours."""
    starts = np.arange(0, values.size, math.ceil(values.size / _BLOCKS))
    chances = np.add.reduceat(weights, starts)
    return np.add.reduceat(weights * values, starts) / chances, chances

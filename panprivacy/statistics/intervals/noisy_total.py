"""The sum of whole numbers from 0 to k over a population, seen from the noisy sum over those that report."""

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from panprivacy.accounting.discrete_gaussian_sum import variance
from panprivacy.statistics.intervals.choice import Choice
from panprivacy.statistics.intervals.exact import Hypotheses, Numbers
from panprivacy.statistics.intervals.release_rule import ReleaseRule

_MANY = 10
"""If the number of chosen devices has at least this standard deviation, steps of k are not visible."""


@dataclass(frozen=True)
class NoisyTotal:
    """Σ of n reports, each a number from 0 to k plus discrete Gaussian noise of scale s.

    The hypothesis is n·μ·`steps`, with μ the mean over the population, from 0 to k.

    If devices take part by coins of probability q, it matters which of them report. Numbers vary most if each
    is 0 or k, so this is what is assumed (`Choice`). If a smaller spread is known to suffice,
    `largest_spread` gives it; then only a part of the reports is left to chance.

    Attributes:
        reports: n, at least 1.
        largest_number: k.
        noise_scale: s.
        sampling_rate: q, above 0.
        largest_spread: the variance of numbers between devices is at most this.
        steps: hypotheses for each whole number of the sum.
        rule: has the scale of the noise in n. The sum is then of x − `zero` over the reports, and `zero` was
            added as often as the shown n.
        zero: from 0 to k.
    """

    reports: int
    largest_number: int
    noise_scale: float
    sampling_rate: float = 1.0
    largest_spread: float = math.inf
    steps: int = 1
    rule: ReleaseRule = field(default_factory=ReleaseRule)
    zero: float = 0.0

    @property
    def most(self) -> int:
        """The highest hypothesis: every device has k."""
        return self.reports * self.largest_number * self.steps

    def mean(self, hypotheses: Hypotheses) -> Numbers:
        return np.asarray(hypotheses / self.steps)

    def variance(self, hypotheses: Hypotheses) -> Numbers:
        count_noise = (self._weight(hypotheses) * self.rule.noise_deviation) ** 2
        return self._noise + self._choice_variance(hypotheses / self.most) + count_noise

    def smoothness(self, hypotheses: Hypotheses) -> Numbers:
        chosen = self._choice_variance(hypotheses / self.most)
        visible = chosen < (_MANY * self.largest_number) ** 2
        return np.sqrt(np.where(visible, self._noise, self._noise + chosen))

    def log_characteristic(self, hypotheses: Hypotheses, angles: Numbers) -> NDArray[np.complex128]:
        noise = self.reports * log_characteristic_of_noise(self.noise_scale, angles)
        share = hypotheses / self.most
        noise = noise + self.rule.log_characteristic(self._weight(hypotheses) * angles)
        if self.sampling_rate == 1:
            return np.asarray(1j * angles * hypotheses / self.steps + noise)
        turns = angles * self.largest_number
        return self._choice.log_characteristic(share, turns, self._varying(share)) + noise

    def _weight(self, hypotheses: Hypotheses) -> Numbers:
        """By how much the sum is off for each report by which n is."""
        return np.asarray(hypotheses / (self.reports * self.steps) - self.zero)

    @property
    def _noise(self) -> float:
        return self.reports * variance(self.noise_scale)

    @property
    def _choice(self) -> Choice:
        return Choice(self.reports, self.sampling_rate)

    def _varying(self, share: Numbers) -> Numbers:
        spread = np.maximum(share * (1 - share), 1e-300) * self.largest_number**2
        return np.minimum(1.0, self.largest_spread / spread)

    def _choice_variance(self, share: Numbers) -> Numbers:
        if self.sampling_rate == 1:
            return np.zeros_like(share)
        return np.asarray(self._varying(share) * self._choice.variance(share) * self.largest_number**2)


def log_characteristic_of_noise(scale: float, angles: Numbers) -> Numbers:
    """ln E exp(i·t·X) for X ~ N_Z(0, s²) and angles t from 0 to π; real, because X is symmetric."""
    if scale < 0.5:
        x = np.arange(1, 12)
        weights = 2 * np.exp(-(x**2) / (2 * scale**2))
        return np.asarray(
            np.log1p((weights * (np.cos(angles[..., None] * x) - 1)).sum(-1) / (1 + weights.sum()))
        )
    # Poisson summation: a sum of Gaussians around the multiples of 2π, over the same at t = 0.
    turns = 2 * math.pi * np.arange(1, 5)
    others = np.exp(-(scale**2) / 2 * (turns**2 - 2 * turns * angles[..., None])).sum(-1)
    others += np.exp(-(scale**2) / 2 * (turns**2 + 2 * turns * angles[..., None])).sum(-1)
    at_zero = 2 * np.exp(-(scale**2) / 2 * turns**2).sum()
    return np.asarray(-((scale * angles) ** 2) / 2 + np.log1p(others) - math.log1p(at_zero))

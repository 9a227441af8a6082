"""Histograms that devices really sent, drawn on the lines of Figures 2 and 3.

Every point is one collection: a population draws its values, every device randomizes its own as a recipe of
`categories` or `rare_categories` has it, and the sum is debiased. Nothing is computed by the lines' formulas
but the noise to ask for: devices add it by randomized response, while the paper adds a Gaussian number of the
same variance to the sum. `tests/collections/publishing/test_measured.py` sends reports of such devices to
the real leader and helper, which find the same.
"""

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import scipy

from panprivacy.statistics.randomized.categories import Categories, CategoriesParameters
from panprivacy.statistics.randomized.rare_categories import (
    Participation,
    RareCategories,
    RareCategoriesParameters,
)
from research.reproduction.histogram_errors import Setting

BUCKETS = 1_000
"""K: the most that a recipe may ask for. The figures have 10,000."""

REPORTS = (1_000, 2_000, 5_000)
"""M of the points."""

DELTA = 1e-6
FAILURE_PROBABILITY = 1e-6
"""With which a point lies outside of `Point.ends`."""

_COHORT = 3  # the least that a helper takes: nothing is withheld


@dataclass(frozen=True)
class Point:
    """One collection.

    Attributes:
        setting: population, reports and categories; T plays no role but in sigma.
        sigma: standard deviation of the noise in every sum.
        seed: of values, coins and noise.
    """

    setting: Setting
    sigma: float
    seed: int

    @property
    def is_sparse(self) -> bool:
        """Whether the values other than the default count."""
        return self.setting.share < 1

    @property
    def expected_reports(self) -> float:
        """The expected number of reports: M, or less if the rate of other values would exceed 1."""
        setting = self.setting
        if not self.is_sparse:
            return float(setting.reports)
        rare = setting.population * setting.share
        return (setting.population - rare) * setting.sampling_rate / 2 + rare * setting.targeted_rate

    @property
    def epsilon(self) -> float:
        """ε of randomized response whose noise, of all reports to expect, has the variance sigma²."""
        # e^ε/(e^ε − 1)² = 1/(4·sinh²(ε/2))
        return 2 * math.asinh(math.sqrt(self.expected_reports) / (2 * self.sigma))

    def statistic(self) -> Categories:
        """As a recipe has it."""
        setting = self.setting
        asked: dict[str, Any] = {
            "epsilon": self.epsilon,
            "delta": DELTA,
            "cohort_size": _COHORT,
            "k": setting.buckets,
        }
        if not self.is_sparse:
            return Categories(CategoriesParameters(**asked, sampling_rate=setting.sampling_rate).calibrated())
        return RareCategories(
            RareCategoriesParameters(
                **asked,
                participation=Participation.RELAYED.value,
                devices=setting.population,
                counted_devices=setting.reports,
                rare_share=setting.share,
            ).calibrated()
        )

    def measurements(self, statistic: Categories) -> Iterator[tuple[int, ...]]:
        """What devices send, one after the other."""
        setting, source = self.setting, random.Random(self.seed)  # noqa: S311  # a simulation
        sampling_rate = statistic.parameters.sampling_rate
        for _ in range(setting.population):
            # Of the others the value plays no role.
            if sampling_rate < 1 and source.random() >= sampling_rate:
                continue
            rare = source.random() < setting.share
            value = source.randrange(int(self.is_sparse), setting.buckets) if rare else 0
            measurement = statistic.randomize(value, source)
            if measurement is not None:
                yield measurement

    def squared_error(self, estimated: Sequence[float]) -> float:
        """Σ (p̃_i − p_i)² of the shares of values, without the default's if there is one."""
        setting = self.setting
        shares = [devices / setting.population for devices in estimated]
        if self.is_sparse:
            each = setting.share / (setting.buckets - 1)
            return sum((share - each) ** 2 for share in shares[1:])
        return sum((share - 1 / setting.buckets) ** 2 for share in shares)

    def measured(self) -> float:
        """The squared error of the one collection."""
        statistic = self.statistic()
        total, reports = [0] * statistic.contribution_length, 0
        for measurement in self.measurements(statistic):
            statistic.add(total, measurement)
            reports += 1
        return self.squared_error(statistic.debiased(total, reports))

    def ends(self, expected: float) -> tuple[float, float]:
        """Between which the squared error lies except for `FAILURE_PROBABILITY`, if `expected` is its mean.

        Errors of the values are about normal, independent and alike: K of them. The noise variance of all
        reports is proportional to their number, which varies by 1/√M.
        """
        count = self.setting.buckets - self.is_sparse
        tail = FAILURE_PROBABILITY / 4
        reports = scipy.stats.norm.isf(tail) / math.sqrt(self.expected_reports)
        low, high = (float(scipy.stats.chi2.ppf(chance, count)) / count for chance in (tail, 1 - tail))
        return low * expected * (1 - reports), high * expected * (1 + reports)

"""Rounds that devices really took part in, drawn on the line of Example 5.

Every round is one collection: each device tosses its coin anew, and those that take part add their share of
the noise to one and the same vector, like a recipe of `vector_mean`. So the mean of the rounds is off by
noise alone, and the example states its amount. Nothing is computed by the line's formula.
`tests/collections/publishing/test_measured_rounds.py` sends reports of such devices to the real leader and
helper, which find the same.
"""

import math
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import scipy

from panprivacy.statistics.randomized.vector_mean import VectorMean, VectorMeanParameters

SIGMA, RATE, ROUNDS = 5.1, 0.02, 2_500
"""σ of the sum of vectors that differ by 1 at most, q, and the number of rounds, of Example 5."""

EPSILON, DELTA = 1.0, 1e-8
"""Of one round of all devices: Example 3, which asks for this σ."""

POINTS = (1, 2, 5, 10, 20, 50)
"""Numbers of rounds of the points."""

FAILURE_PROBABILITY = 1e-6
"""With which a point lies outside of `Collections.ends`."""

_DIMENSION, _BITS = 15, 12  # rounding adds a 500th to the noise


@dataclass(frozen=True)
class Collections:
    """Rounds of one recipe, all with the same devices.

    Attributes:
        devices: that hear of each round.
        cohort_size: that a round must fill; the noise is that of this number of reports.
        seed: of coins and noise.
    """

    devices: int
    cohort_size: int
    seed: int

    @property
    def members(self) -> dict[str, Any]:
        """The parameters, in the form of a recipe file."""
        return {
            "dimension": _DIMENSION,
            "bits": _BITS,
            "epsilon": EPSILON,
            "delta": DELTA,
            "cohort_size": self.cohort_size,
            "sampling_rate": RATE,
        }

    def statistic(self) -> VectorMean:
        """As a recipe has it."""
        return VectorMean(VectorMeanParameters(**self.members).calibrated())

    @property
    def value(self) -> tuple[float, ...]:
        """The vector of every device."""
        return tuple(math.cos(place) / 8 for place in range(_DIMENSION))

    def rounds(
        self, statistic: VectorMean, is_sampled: Callable[[random.Random], bool]
    ) -> Iterator[dict[int, tuple[int, ...]]]:
        """What devices send in each round, by device; without end.

        Args:
            is_sampled: a device's coin.
        """
        source, value = random.Random(self.seed), self.value  # noqa: S311  # a simulation
        while True:
            yield {
                device: statistic.randomize(value, source)
                for device in range(self.devices)
                if is_sampled(source)
            }

    def squared_error(self, estimates: Sequence[Sequence[float]]) -> float:
        """Of the mean of the rounds' estimates, over all coordinates."""
        means = (math.fsum(found) / len(estimates) for found in zip(*estimates, strict=True))
        return math.fsum((mean - true) ** 2 for mean, true in zip(means, self.value, strict=True))

    def expected(self, reports: Sequence[float]) -> float:
        """What `squared_error` is on average, of rounds with this number of reports: d·Σ(2σ)²/(B·c)/R².

        Our vectors are replaced, and so up to 2 apart: the noise of B reports is that of 2σ.
        """
        of_rounds = sum((2 * SIGMA) ** 2 / (self.cohort_size * count) for count in reports)
        return _DIMENSION * of_rounds / len(reports) ** 2

    def line(self, rounds: int) -> float:
        """`expected` if each round has the expected number of reports."""
        return self.expected([self.devices * RATE] * rounds)

    def measured(self, rounds: int) -> Iterator[float]:
        """The squared error after each round. A round that does not fill is left out."""
        statistic, estimates = self.statistic(), list[Sequence[float]]()
        for sent in self.rounds(statistic, lambda source: source.random() < RATE):
            if len(sent) < self.cohort_size:
                continue
            total = [0] * statistic.contribution_length
            for measurement in sent.values():
                statistic.add(total, measurement)
            estimates.append(statistic.estimate(total, len(sent)).values)
            yield self.squared_error(estimates)
            if len(estimates) == rounds:
                return

    def ends(
        self, expected: float, times: int = 1, failures: float = FAILURE_PROBABILITY
    ) -> tuple[float, float]:
        """Between which the sum of the squared errors of independent means lies except for `failures`.

        Errors of coordinates are independent, and normal except for what rounding adds, a 200th of the
        variance.

        Args:
            expected: of the sum.
            times: how many means, all with the same expected error.
        """
        count = times * _DIMENSION
        low, high = (
            float(scipy.stats.chi2.ppf(end, count)) / count for end in (failures / 2, 1 - failures / 2)
        )
        return low * expected, high * expected * 1.005

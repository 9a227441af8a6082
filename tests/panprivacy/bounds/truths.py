"""How often intervals hold, as a sum over all that can come in: no simulation.

At one truth, a family's interval holds it where neither tail of the observation is rare. So the observations
that let it hold are a range for each number of reports, and its ends are found by bisection. Their
probability is that of the true distribution: how many devices with a 1, and how many others, take part.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.stats import binom

from panprivacy.accounting.rounding import log_one_plus
from panprivacy.bounds.exact import probability_at_most
from panprivacy.bounds.randomized_bits import RandomizedBits

LIKELY = 1e-7
"""Numbers of devices that are rarer than this are left out, and count as missed."""

MOST_BLOCKS = 60
"""Numbers of devices are taken together in so many blocks, each by its middle, where there are more."""


@dataclass(frozen=True)
class ManySizes(RandomizedBits):
    """Randomized bits of another number of reports in each row."""

    sizes: np.ndarray | None = None

    def mean(self, hypotheses):
        return super().mean(hypotheses) + self.sizes * self.absent

    def variance(self, hypotheses):
        return super().variance(hypotheses) + self.sizes * self.absent * (1 - self.absent)

    def log_characteristic(self, hypotheses, angles):
        without = log_one_plus(self.absent * np.expm1(1j * angles))
        return super().log_characteristic(hypotheses, angles) + self.sizes[:, None] * without


@dataclass(frozen=True)
class Coverage:
    """Of one truth.

    Attributes:
        held: the probability that an interval comes out and holds.
        nothing: that fewer than a cohort take part, so that none comes out.
    """

    held: float
    nothing: float

    @property
    def of_all(self) -> float:
        """Of all collections; one without a result states nothing wrong."""
        return self.held + self.nothing

    @property
    def of_released(self) -> float:
        return self.held / (1 - self.nothing)


def coverage(population, ones, epsilon, rate, failure_probability, cohort=1):
    """Of the interval for `ones` devices of a population whose bits are randomized with ε."""
    flip = 1 / (math.exp(epsilon) + 1)
    with_one, weights = blocks(ones, rate)
    without, other_weights = blocks(population - ones, rate)
    weight = np.outer(weights, other_weights).ravel()
    chosen = np.repeat(with_one, without.size)
    reports = chosen + np.tile(without, with_one.size)
    kept = (weight > (LIKELY if cohort == 1 else LIKELY / 100)) & (reports >= cohort)
    weight, chosen, reports = weight[kept], chosen[kept], reports[kept]
    sizes, place = np.unique(reports, return_inverse=True)
    family = ManySizes(0, flip, 1 - flip, rate, sizes=sizes)
    rare, truth = failure_probability / 2, np.full(sizes.shape, ones)

    def released(seen):
        bits = (RandomizedBits(int(size), flip, 1 - flip, rate, cohort=cohort) for size in sizes)
        return np.array([float(one.released(ones, x)) for one, x in zip(bits, seen, strict=True)])

    lowest = first(lambda seen: probability_at_most(family, truth, seen) > rare, sizes)
    beyond = first(
        lambda seen: (
            1 - probability_at_most(family, truth, seen - 1) <= rare * (cohort < 2 or released(seen))
        ),
        sizes,
    )
    if ones == 0:
        lowest = np.zeros_like(sizes)  # the lower end is 0 at least, and so is the upper
    if rate == 1 and ones == population:
        beyond = sizes + 1
    true = replace(family, sampling_rate=1.0, sizes=reports)
    held = probability_at_most(true, chosen, beyond[place] - 1)
    held = held - probability_at_most(true, chosen, lowest[place] - 1)
    # Blocks of numbers of reports that are cut by the cohort size are counted as their middles are.
    nothing = binom.pmf(0, population, rate) if cohort == 1 else 1 - weight.sum()
    return Coverage(float(weight @ held), float(nothing))


def blocks(size, rate):
    """Numbers of devices that take part, and their probabilities."""
    low, high = binom.ppf(LIKELY, size, rate), binom.isf(LIKELY, size, rate)
    edges = np.arange(max(0, low), high + 2)
    if edges.size > MOST_BLOCKS:
        edges = np.unique(np.linspace(max(0, low), high + 1, MOST_BLOCKS).round())
    weights = np.diff(binom.cdf(edges - 1, size, rate))
    return ((edges[:-1] + edges[1:] - 1) // 2).astype(np.int64), weights


def first(holds, sizes):
    """For each number of reports the first number of ones from which on a condition holds."""
    below, reached = np.full(sizes.shape, -1), sizes + 1
    while (is_open := reached - below > 1).any():
        middle = (below + reached) // 2
        found = holds(middle)
        reached = np.where(is_open & found, middle, reached)
        below = np.where(is_open & ~found, middle, below)
    return reached

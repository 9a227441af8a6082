"""How often intervals hold, as a sum over all that can come in: no simulation.

At one truth, a family's interval holds it where neither tail of the observation is rare. So the observations
that let it hold are a range for each number of reports, and its ends are found by bisection. Their
probability is that of the true distribution: how many devices with a 1, and how many others, take part.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.stats import binom, norm

from panprivacy.accounting.rounding import log_one_plus
from panprivacy.bounds.exact import first, probability_at_most
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


class AtOneTruth:
    """A family that is only asked for the same hypotheses, so that its functions are computed once."""

    def __init__(self, family, truth):
        self.truth = truth
        self.values = {name: getattr(family, name)(truth) for name in ("mean", "variance", "smoothness")}
        self.log_characteristic_of, self.logarithms = family.log_characteristic, None

    def mean(self, _):
        return self.values["mean"]

    def variance(self, _):
        return self.values["variance"]

    def smoothness(self, _):
        return self.values["smoothness"]

    def log_characteristic(self, _, angles):
        # The angles are always the same: they follow from the three above, never from what is observed.
        if self.logarithms is None:
            self.logarithms = self.log_characteristic_of(self.truth[:, None], angles)
        return self.logarithms

    def at_most(self, seen):
        """Pr[X ≤ seen]."""
        return probability_at_most(self, self.truth, seen)

    def ends(self, rare, least, most, released=None):
        """The first observation that is not too small, and the first that is too large.

        Args:
            rare: what has at most this probability is too small, or too large.
            least, most: of the observations.
            released: if given, large ones have at most `rare` times this function of them.
        """
        mean, reach = self.values["mean"], norm.isf(rare) * np.sqrt(self.values["variance"])
        return (
            first(lambda seen: self.at_most(seen) > rare, least, most, nearest(mean - reach)),
            first(
                lambda seen: 1 - self.at_most(seen - 1) <= rare * (released(seen) if released else 1),
                least,
                most,
                nearest(mean + reach),
            ),
        )


def nearest(numbers):
    return np.round(numbers).astype(np.int64)


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
    released = RandomizedBits(sizes, flip, 1 - flip, rate, cohort=cohort).released
    lowest, beyond = AtOneTruth(family, truth).ends(
        rare, 0 * sizes, sizes, (lambda seen: released(truth, seen)) if cohort > 1 else None
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

"""How often intervals hold, as a sum over all that can come in: no simulation.

At one truth, a family's interval holds it where neither tail of the observation is rare. So the observations
that let it hold are a range for each number of reports, and its ends are found by bisection. Their
probability is that of the true distribution: how many devices with a 1, and how many others, take part.
"""

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.stats import binom, norm

from panprivacy.accounting import noisy_count
from panprivacy.accounting.rounding import log_one_plus
from panprivacy.statistics.intervals.exact import first, probability_at_most
from panprivacy.statistics.intervals.randomized_bits import RandomizedBits
from panprivacy.statistics.intervals.release_rule import ReleaseRule

LIKELY = 1e-7
"""Numbers of devices that are rarer than this are left out, and count as missed."""

MOST_BLOCKS = 60
"""Numbers of devices are taken together in so many blocks, each by its middle, where there are more."""

NOISE_BLOCKS = {"ones": 80, "coordinates": 400}
"""Values of the noise in the number of reports, likewise; each block is as likely. What is divided by that
number needs more of them."""


@dataclass(frozen=True)
class ManySizes(RandomizedBits):
    """Randomized bits of another number of reports in each row."""

    sizes: np.ndarray | None = None

    def mean(self, hypotheses):
        return super().mean(hypotheses) + self.coins * self.sizes * self.absent

    def variance(self, hypotheses):
        return super().variance(hypotheses) + self.coins * self.sizes * self.absent * (1 - self.absent)

    def log_characteristic(self, hypotheses, angles):
        without = log_one_plus(self.absent * np.expm1(1j * angles))
        return super().log_characteristic(hypotheses, angles) + self.coins * self.sizes[:, None] * without


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


def coverage(
    population,
    ones,
    epsilon,
    rate,
    failure_probability,
    cohort=1,
    *,
    noisy=False,
    coins=1,
    reporting=None,
    of_share=False,
):
    """Of the interval for `ones` devices of a population whose bits are randomized with ε, exactly but for
    what is taken together in blocks: how many take part, the margin, and the noise in their number.

    Args:
        noisy: whether a margin is needed beyond the cohort, and the number of reports has noise.
        coins: bits of each report that are counted together.
        reporting: with which a device sends anything, where some send dummies.
        of_share: of the interval of the share of devices, which reaches a device further on either side, in
            place of their number.
    """
    flip, rule = 1 / (math.exp(epsilon) + 1), ReleaseRule(cohort, reporting or rate, noisy)
    likely = LIKELY if cohort == 1 else LIKELY / 100
    weight, chosen, reports, shown, chances = what_is_shown(population, ones, rate, rule, likely, "ones")
    if not weight.size:
        return Coverage(0.0, 1.0)
    sizes, place = np.unique(shown, return_inverse=True)
    family = ManySizes(0, flip, 1 - flip, rate, coins, rule, sizes=sizes)
    asked = RandomizedBits(sizes, flip, 1 - flip, rate, coins, rule).released(failure_probability)
    below = above = np.full(sizes.shape, ones)
    if of_share:  # of as many devices as such a number of reports stands for
        truths = sizes / rule.reporting_rate * (ones / population)
        below, above = np.floor(truths).astype(int) + 1, np.maximum(np.ceil(truths).astype(int) - 1, 0)
    rare, least, most = failure_probability / 2, 0 * sizes, coins * sizes + math.ceil(40 * rule.noise_scale)
    lowest, _ = AtOneTruth(family, above).ends(rare, least, most)
    release = (lambda seen: asked(below, seen)) if cohort > 1 else None
    _, beyond = AtOneTruth(family, below).ends(rare, least, most, release)
    if ones == 0:
        lowest = np.zeros_like(sizes)  # the lower end is 0 at least, and so is the upper
    if rate == 1 and ones == population and not noisy:
        beyond = most + 1
    true = ManySizes(0, flip, 1 - flip, 1.0, coins, sizes=reports)
    place = place.reshape(shown.shape)
    held = np.zeros(weight.shape)
    for column, chance in zip(place.T, chances, strict=True):
        held += chance * probability_at_most(true, chosen, beyond[column] - 1)
        held -= chance * probability_at_most(true, chosen, lowest[column] - 1)
    # Blocks of numbers of reports that are cut by the cohort size are counted as their middles are.
    nothing = binom.pmf(0, population, reporting or rate) if cohort == 1 else 1 - weight.sum()
    return Coverage(float(weight @ held), float(nothing))


def coverage_of_coordinate(statistic, population, ones):
    """Of the intervals of a mean of vectors of one coordinate: 1 on some devices, −1 on the others.

    Exactly but for blocks, as of `coverage`; the noise of a sum is taken as normal.
    """
    rule, rate = statistic.release_rule, statistic.parameters.sampling_rate
    weight, chosen, reports, shown, chances = what_is_shown(
        population, ones, rate, rule, LIKELY / 100, "coordinates"
    )
    if not weight.size:
        return Coverage(0.0, 1.0)
    sizes = np.unique(shown)
    if sizes.size > MOST_BLOCKS:  # the ends of others lie between theirs
        sizes = sizes[np.linspace(0, sizes.size - 1, MOST_BLOCKS).round().astype(int)]
    rare, ends = 0.025 * (1 - statistic.kept_for_noise), []
    for size in sizes.tolist():
        sums = statistic.sums(size)
        truth = np.array([round(sums.most * ones / population)])
        found = AtOneTruth(sums, truth).ends(rare, np.array([-(10**15)]), np.array([10**15]))
        # As means of coordinates: sums of (x + 1)/2 in steps, of so many reports.
        ends.append([float(2 * end[0] / sums.most - 1) for end in found])
    low, high = (np.interp(shown, sizes, column) for column in zip(*ends, strict=True))
    mean = (2 * chosen - reports)[:, None] / shown
    deviation = np.sqrt(statistic._variance * reports)[:, None] / shown
    held = (norm.cdf((high - mean) / deviation) - norm.cdf((low - mean) / deviation)) @ chances
    return Coverage(float(weight @ held), float(1 - weight.sum()))


def what_is_shown(population, ones, rate, rule, likely, of):
    """Of collections with a result: their probabilities, devices with a 1 that take part, and reports; then
    what is shown as the number of reports, with the noise of each column, and the noise's probabilities."""
    weight, chosen, reports = who_reports(population, ones, rate, rule.reporting_rate)
    margins = noisy_count.margin_probabilities(rule.cohort_size) if rule.noisy else np.ones(1)
    reached = np.clip(reports - rule.cohort_size + 1, 0, len(margins))
    weight = weight * np.concatenate([[0.0], np.cumsum(margins)])[reached]
    kept = weight > likely
    weight, chosen, reports = weight[kept], chosen[kept], reports[kept]
    noise, chances = (
        noise_of(rule.cohort_size, NOISE_BLOCKS[of])
        if rule.noisy
        else (np.zeros(1, dtype=np.int64), np.ones(1))
    )
    return weight, chosen, reports, np.maximum(1, reports[:, None] + noise), chances


def who_reports(population, ones, rate, reporting):
    """Probabilities, numbers of devices with a 1 that take part, and of all reports."""
    with_one, weights = blocks(ones, rate)
    if reporting == rate:
        without, other_weights = blocks(population - ones, rate)
        chosen, others = np.repeat(with_one, without.size), np.tile(without, with_one.size)
        return np.outer(weights, other_weights).ravel(), chosen, chosen + others
    found = []
    sent = np.arange(population - ones + 1)
    of_others = binom.pmf(sent, sent[-1], reporting)
    for taking_part, weight in zip(with_one, weights, strict=True):
        rest = ones - taking_part
        dummies = binom.pmf(np.arange(rest + 1), rest, (reporting - rate) / (1 - rate))
        chances = np.convolve(dummies, of_others)
        found += [(weight * chance, taking_part, taking_part + n) for n, chance in enumerate(chances)]
    weight, chosen, reports = zip(*found, strict=True)
    return np.array(weight), np.array(chosen), np.array(reports)


def noise_of(cohort, blocks):
    """Noise in the number of reports and its probabilities, in blocks."""
    scale = float(noisy_count.scale(cohort))
    values = np.arange(-math.ceil(16 * scale), math.ceil(16 * scale) + 1)
    chances = np.exp(-np.abs(values) / scale)
    chances /= chances.sum()
    edges = np.searchsorted(np.cumsum(chances), np.linspace(0, 1, blocks + 1)[1:-1])
    edges = np.unique([0, *edges, values.size])
    parts = [slice(first, last) for first, last in pairwise(edges)]
    weights = np.array([chances[part].sum() for part in parts])
    middles = np.array([round(chances[part] @ values[part] / chances[part].sum()) for part in parts])
    return middles, weights


def blocks(size, rate):
    """Numbers of devices that take part, and their probabilities."""
    low, high = binom.ppf(LIKELY, size, rate), binom.isf(LIKELY, size, rate)
    edges = np.arange(max(0, low), high + 2)
    if edges.size > MOST_BLOCKS:
        edges = np.unique(np.linspace(max(0, low), high + 1, MOST_BLOCKS).round())
    weights = np.diff(binom.cdf(edges - 1, size, rate))
    return ((edges[:-1] + edges[1:] - 1) // 2).astype(np.int64), weights

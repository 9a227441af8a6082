"""Intervals for means hold as often as they say, by sums over who may take part; noise is added exactly."""

import math
import random

import numpy as np
import pytest
from scipy.stats import binom, hypergeom

from panprivacy.accounting.discrete_gaussian_sum import smallest_scale
from panprivacy.statistics.intervals.exact import bounds, probability_at_most
from panprivacy.statistics.intervals.noisy_total import NoisyTotal
from tests.panprivacy.statistics.intervals.truths import AtOneTruth

LEAST = 0.945
"""5% may miss; half a percent is for numbers that do not vary as much as is assumed, and for populations of
which only the expected size is known."""


def coverage(population, having, number, k, scale, rate):
    """Of the mean, if so many devices have this number, and all others 0."""
    sizes = np.arange(max(1, binom.ppf(1e-7, population, rate)), binom.isf(1e-7, population, rate) + 1)
    sizes = np.unique(sizes[np.linspace(0, sizes.size - 1, min(sizes.size, 9)).astype(int)])
    weights = binom.pmf(sizes, population, rate)
    held = [covered(int(n), population, having, number, k, scale, rate) for n in sizes]
    return float(weights @ held / weights.sum())


def covered(n, population, having, number, k, scale, rate):
    """The same if n devices report."""
    family = NoisyTotal(n, k, scale, rate, steps=1 if rate == 1 else 64)
    hypothesis = np.array([round(n * number * having / population * family.steps)])

    least = np.array([-(10**7)])
    (lowest,), (beyond,) = AtOneTruth(family, hypothesis).ends(0.025, least, -least)
    if hypothesis[0] == 0:
        lowest = -(10**7)
    if hypothesis[0] == family.most:
        beyond = 10**7
    chosen = np.arange(max(0, n - (population - having)), min(n, having) + 1)
    chances = hypergeom.pmf(chosen, population, having, n)
    chosen, chances = chosen[chances > 1e-9], chances[chances > 1e-9]
    noise, none = NoisyTotal(n, k, scale), np.zeros(chosen.shape, dtype=np.int64)
    inside = probability_at_most(noise, none, beyond - 1 - number * chosen)
    return chances @ (inside - probability_at_most(noise, none, lowest - 1 - number * chosen))


@pytest.mark.parametrize(("seed", "count"), [(1, 4), pytest.param(2, 100, marks=pytest.mark.long)])
def test_intervals_hold_at_truths_drawn_at_random(seed, count):
    source = random.Random(seed)
    for _ in range(count):
        population = round(2 * 10 ** source.uniform(0, 3.5))
        rate = 1 if source.random() < 0.2 else 10 ** source.uniform(-2, 0)
        if population * rate < 1:
            continue
        k = source.choice([1, 2, 5, 20, 100])
        number = max(1, k // source.choice([1, 2, 3, 5, 20]))
        having = round(population * source.choice([0, 1, source.random(), 10 ** source.uniform(-3, 0)]))
        terms = max(2, int(population * rate)) if source.random() < 0.7 else 1
        scale = max(0.04, smallest_scale(terms, k, 0.1 * 150 ** source.random(), 1e-6))
        drawn = (population, having, number, k, scale, rate)
        assert coverage(*drawn) >= LEAST, drawn


@pytest.mark.parametrize(("seed", "count"), [(3, 3), pytest.param(4, 100, marks=pytest.mark.long)])
def test_intervals_hold_in_large_populations_at_truths_drawn_at_random(seed, count):
    """Up to a million devices, and rates from a thousandth; if as many report as are expected."""
    source = random.Random(seed)
    for _ in range(count):
        rate = 10 ** source.uniform(-3, 0)
        population = round(10 ** source.uniform(math.log10(2 / rate), 6))
        k = source.choice([1, 2, 5, 20, 100])
        number = max(1, k // source.choice([1, 2, 5, 20]))
        having = round(population * source.choice([0, 1, source.random(), 10 ** source.uniform(-6, 0)]))
        reports = round(population * rate)
        terms = reports if source.random() < 0.7 else 1
        scale = max(0.04, smallest_scale(terms, k, 0.1 * 150 ** source.random(), 1e-6))
        drawn = (reports, population, having, number, k, scale, rate)
        assert covered(*drawn) >= LEAST, drawn


@pytest.mark.parametrize("drawn", [
    # Nearly all devices take part, next to no noise, and three of them have the number or do not report.
    (53, 3, 2, 2, 0.23320627277978653, 0.9120765780602607),
    (400, 5, 5, 5, 0.04, 0.5), (2_000, 1_997, 1, 1, 0.04, 0.6),
])  # fmt: skip
def test_intervals_hold_where_a_few_devices_decide_and_noise_hides_nothing(drawn):
    assert coverage(*drawn) >= LEAST


def test_rare_large_numbers_that_no_report_shows_are_allowed_for():
    """A normal approximation by the estimate's own spread reaches no further than the noise."""
    family = NoisyTotal(100, 50, 0.5, 0.01, steps=64)
    (low,), (high,) = bounds(family, [0], family.most, 0.05)
    assert low == 0
    # That 100 devices all have none, and the noise is not above 0 either, which it is half of the time.
    share = 1 - (0.025 / 0.5) ** (1 / 100)
    assert high / family.steps == pytest.approx(100 * 50 * share, rel=0.1)
    assert high / family.steps > 10 * 1.96 * math.sqrt(100) * 0.5


def test_less_spread_between_devices_makes_intervals_shorter():
    widths = []
    for spread in (0, 1, 10, 100, math.inf):
        family = NoisyTotal(1_000, 20, 3.0, 0.1, spread, steps=64)
        (low,), (high,) = bounds(family, [7_000], family.most, 0.05)
        widths.append((high - low) / family.steps)
    assert widths == sorted(widths)
    assert widths[0] == pytest.approx(2 * 1.96 * math.sqrt(1_000) * 3, rel=0.01)
    assert widths[2] == pytest.approx(2 * 1.96 * math.sqrt(1_000 * (9 + 0.9 * 10)), rel=0.01)
    assert widths[-1] == pytest.approx(2 * 1.96 * math.sqrt(1_000 * (9 + 0.9 * 7 * 13)), rel=0.01)

import functools
import math
import random
from fractions import Fraction

import numpy as np
import pytest
import scipy.stats

from panprivacy.accounting import noisy_count
from panprivacy.formats.parameters import Parameters
from panprivacy.statistics.events.count_nonzero import CountNonzero
from panprivacy.statistics.events.histogram import Histogram, HistogramParameters

COHORT = 100
COMMON = {"steps": 4, "delta": 1e-6, "cohort_size": COHORT, "epsilon": 0.5, "sampling_rate": 0.5}
REPORTS = 150


def noise_masses() -> dict[int, float]:
    """The noise's distribution, but for 1e-15."""
    ratio = math.exp(-noisy_count.epsilon(COHORT))
    return {x: (1 - ratio) / (1 + ratio) * ratio ** abs(x) for x in range(-180, 181)}


@pytest.mark.parametrize(
    ("mechanism", "total"),
    [
        (CountNonzero(Parameters(**COMMON)), (70,)),
        (Histogram(HistogramParameters(**COMMON, k=2, coin="bucket")), (90, 60, 55)),
    ],
    ids=["count_nonzero", "histogram"],
)
def test_estimate_is_unbiased_and_its_error_includes_the_noise(mechanism, total):
    """Linear in the noise, whose mean is 0 and whose variance is summed up: no chance is involved."""
    exact = mechanism.estimate(total, REPORTS)
    variance = sum(mass * x**2 for x, mass in noise_masses().items())
    noisy = mechanism.with_noisy_count()
    found = {x: noisy.estimate(total, REPORTS + x) for x in (-120, -1, 0, 1, 150)}
    for position, value in enumerate(exact.values):
        step = found[1].values[position] - found[0].values[position]
        for x, estimate in found.items():
            assert estimate.values[position] == pytest.approx(value + x * step, rel=1e-9)
        stated = found[0].standard_errors[position]
        added = step**2 * variance
        assert stated**2 - exact.standard_errors[position] ** 2 == pytest.approx(added, rel=1e-6)
        assert stated < 1.23 * exact.standard_errors[position]


def test_intervals_hold_with_the_noise():
    """Of 400 collections 380 should hold, and 264 at the lower level: fewer than 356, or than 216, do with
    probability below 1e-6."""
    devices, cohort, epsilon = 100, 100, 4.0
    parameters = {**COMMON, "sampling_rate": 1.0, "epsilon": epsilon, "cohort_size": cohort}
    mechanism = CountNonzero(Parameters(**parameters)).with_noisy_count()
    flip = 1 / (1 + math.exp(epsilon))
    coins, generator = random.Random(devices), np.random.default_rng(devices)
    held = [0, 0]
    found = functools.cache(mechanism.estimate)  # many come out alike
    for _ in range(400):
        ones = int(generator.binomial(devices, 1 - flip) + generator.binomial(cohort - devices, flip))
        reports = max(1, cohort + noisy_count.draw(cohort, coins))
        for level, interval in enumerate(found((ones,), reports).intervals):
            held[level] += interval.low[0] <= devices <= interval.high[0]
    assert held[0] >= 356
    assert held[1] >= 216


def test_draw_has_the_stated_variance():
    """5,000 draws at scale 5, of variance 49.8: the mean square differs from it by more than 30% with
    probability below 1e-6: its standard deviation is 49.8·√(5/5000) = 1.6, so that this is nine of them."""
    source = random.Random(1)
    draws = [noisy_count.draw(COHORT, source) for _ in range(5_000)]
    assert sum(draw**2 for draw in draws) / len(draws) == pytest.approx(49.8, rel=0.3)


@pytest.mark.parametrize(
    ("cohort_size", "population_size", "rate"),
    [
        (2, 3, 1.0),
        (20, 20, 1.0),
        (20, 36, 1.0),
        (20, 50, 0.5),
        (100, 90, 0.9),
        (100, 300, 0.4),
        (5, 100, 0.0),
    ],
)
def test_release_probability_is_that_of_drawn_margins_and_devices(cohort_size, population_size, rate):
    """Against a sum over every noise and every number of reports, in fractions and floats of Python."""
    usual, ratio = noisy_count.usual_margin(cohort_size), math.exp(-noisy_count.margin_epsilon(cohort_size))
    margins = dict.fromkeys(range(2 * usual + 1), 0.0)
    for noise in range(-40 * usual, 40 * usual + 1):
        margins[usual + min(max(noise, -usual), usual)] += (1 - ratio) / (1 + ratio) * ratio ** abs(noise)
    expected, chance = 0.0, Fraction(rate)
    for reports in range(cohort_size, population_size + 1):
        reached = sum(mass for margin, mass in margins.items() if reports >= cohort_size + margin)
        ways = math.comb(population_size, reports)
        expected += reached * float(ways * chance**reports * (1 - chance) ** (population_size - reports))
    found = noisy_count.release_probability(cohort_size, population_size, rate)
    assert found == pytest.approx(expected, abs=1e-11)


def test_release_is_certain_only_beyond_twice_the_usual_margin():
    """Whatever the cohort: impossible below it, and certain at 2t beyond."""
    for cohort_size in (1, 2, 100, 10_000, 10**9):
        most = cohort_size + 2 * noisy_count.usual_margin(cohort_size)
        assert noisy_count.release_probability(cohort_size, cohort_size - 1, 1.0) == 0
        assert 0 < noisy_count.release_probability(cohort_size, cohort_size, 1.0) < noisy_count.MARGIN_DELTA
        assert noisy_count.release_probability(cohort_size, most - 1, 1.0) < 1
        assert noisy_count.release_probability(cohort_size, most, 1.0) == pytest.approx(1, abs=1e-12)


def test_margins_are_drawn_with_their_stated_probabilities():
    """5,000 draws in cells of 40 and more: χ² exceeds its 1 − 1e-7 quantile with about that probability;
    stated as at most 1e-6."""
    probabilities = noisy_count.margin_probabilities(COHORT)
    assert probabilities.sum() == pytest.approx(1, abs=1e-12)
    source = random.Random(2)
    drawn = np.bincount(
        [noisy_count.draw_margin(COHORT, source) for _ in range(5_000)], minlength=len(probabilities)
    )
    usual = 5_000 * probabilities >= 40
    expected = np.append(5_000 * probabilities[usual], 5_000 * probabilities[~usual].sum())
    found = np.append(drawn[usual], drawn[~usual].sum())
    assert ((found - expected) ** 2 / expected).sum() < scipy.stats.chi2.isf(1e-7, len(found) - 1)

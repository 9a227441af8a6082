"""Intervals for numbers of devices hold as often as they say, by sums over all that can come in."""

import itertools
import math
import random

import numpy as np
import pytest
from scipy.stats import binom, norm

from panprivacy.bounds import randomized_bits
from panprivacy.bounds.exact import bounds
from panprivacy.bounds.randomized_bits import RandomizedBits
from panprivacy.bounds.release_rule import ReleaseRule
from tests.panprivacy.bounds.truths import coverage

LEAST = 0.945
"""5% may miss, and half a percent is for numbers of devices that are taken together."""


def drawn(count, seed):
    """(population, devices with a 1, ε, sampling rate), each over its whole range, edges often."""
    source = random.Random(seed)
    for _ in range(count):
        population = round(2 * 500_000 ** source.random())
        share = source.choice(
            [0, 1, source.random(), 10 ** source.uniform(-6, 0), 1 - 10 ** source.uniform(-6, 0)]
        )
        rate = source.choice([1, 10 ** source.uniform(-3, 0), source.uniform(0.2, 1)])
        yield population, round(share * population), 0.1 * 150 ** source.random(), rate


GRID = list(
    dict.fromkeys(  # shares of few devices come to the same number
        (population, round(share * population), epsilon, rate)
        for population in (2, 7, 70, 1_000, 10_000, 1_000_000)
        for share in (0, 1e-4, 0.005, 0.1, 0.5, 0.95, 1)
        for epsilon in (0.1, 1, 4, 8, 15)
        for rate in (0.001, 0.01, 0.3, 0.9, 1)
    )
)


@pytest.mark.parametrize(
    ("population", "ones", "epsilon", "rate"),
    [(70, 1, 6, 1), (500, 1, 8, 1), (10_000, 50, 10, 0.01)],
)
def test_intervals_hold_where_the_normal_approximation_did_not(population, ones, epsilon, rate):
    assert coverage_of_normal(population, ones, epsilon, rate) < 0.86
    assert coverage(population, ones, epsilon, rate, 0.05).of_released >= 0.95


def coverage_of_normal(population, ones, epsilon, rate):
    """Of 1.96 stated standard errors around the unbiased estimate; the number of reports as expected."""
    flip, reports = 1 / (math.exp(epsilon) + 1), round(population * rate)
    held = 0.0
    for chosen in range(int(binom.isf(1e-9, ones, rate)) + 1):
        seen = np.arange(int(binom.isf(1e-9, reports, flip)) + chosen + 2)
        noise = binom.pmf(np.arange(seen.size), reports - chosen, flip)
        weight = np.convolve(binom.pmf(np.arange(chosen + 1), chosen, 1 - flip), noise)[: seen.size]
        estimate = (seen - reports * flip) / (1 - 2 * flip) / rate
        variance = reports * flip * (1 - flip) / (1 - 2 * flip) ** 2 / rate**2
        error = np.sqrt(variance + np.maximum(estimate, 0) * (1 - rate) / rate)
        held += binom.pmf(chosen, ones, rate) * weight @ (np.abs(estimate - ones) <= norm.isf(0.025) * error)
    return held


@pytest.mark.parametrize(
    ("seed", "count"),
    [(1, 15), pytest.param(1, 30, marks=pytest.mark.long), pytest.param(3, 160, marks=pytest.mark.long)],
)
def test_intervals_hold_at_truths_drawn_at_random(seed, count):
    for population, ones, epsilon, rate in drawn(count, seed):
        held = coverage(population, ones, epsilon, rate, 0.05)
        assert held.of_all >= LEAST, (population, ones, epsilon, rate)
        if held.nothing < 0.5:
            assert held.of_released >= LEAST, (population, ones, epsilon, rate)


@pytest.mark.long
def test_intervals_hold_at_every_point_of_the_grid():
    for point in GRID:
        held = coverage(*point, 0.05)
        assert held.of_all >= LEAST, point
        if held.nothing < 0.5:
            assert held.of_released >= LEAST, point


def rarely_released(probability, points):
    """Each point with the cohort that reports so often, or a little more; no cohort of one."""
    for population, ones, epsilon, rate in points:
        cohort = int(binom.isf(probability, population, rate))
        if cohort > 1 and rate < 1:
            yield (population, ones, epsilon, rate), cohort


@pytest.mark.parametrize("probability", [0.01, pytest.param(0.5, marks=pytest.mark.long)])
def test_intervals_that_are_released_hold_where_a_release_is_rare(probability):
    """Of what large numbers of reports state without regard to that, none may hold."""
    points = [
        *drawn(5, "released"),
        (10_000, 10_000, 15, 0.3),
        (1_000, 1_000, 4, 0.9),
        (2_000, 300, 8, 0.01),
    ]
    for point, cohort in rarely_released(probability, points):
        assert coverage(*point, 0.05, cohort).of_released >= LEAST, (*point, cohort)


@pytest.mark.long
@pytest.mark.parametrize(("probability", "every"), [(0.01, 1), (0.1, 4), (0.5, 3)])
def test_intervals_that_are_released_hold_at_every_point_of_the_grid(probability, every):
    """Coverage is least where a release is rarest: there every point, elsewhere some of all kinds."""
    for point, cohort in rarely_released(probability, GRID[::every]):
        assert coverage(*point, 0.05, cohort).of_released >= LEAST, (*point, cohort)


def test_interval_is_as_short_as_ever_where_far_more_than_a_cohort_report():
    bits = [RandomizedBits(1_000, 0.1, 0.9, 0.5, rule=ReleaseRule(cohort, 0.5)) for cohort in (1, 850, 1_000)]
    ever, far, near = (randomized_bits.intervals(one, [500])[0] for one in bits)
    assert far == ever
    assert near.high == ever.high
    assert near.low[0] < ever.low[0]


@pytest.mark.parametrize("failure_probability", [pytest.param(0.34, marks=pytest.mark.long), 0.05 / 1_001])
def test_intervals_hold_at_other_levels(failure_probability):
    for population, ones, epsilon, rate in drawn(8, "levels"):
        held = coverage(population, ones, epsilon, rate, failure_probability)
        assert 1 - held.of_all <= failure_probability * 1.1 + 2e-5, (population, ones, epsilon, rate)


def test_intervals_are_no_wider_than_the_normal_approximation_where_that_holds():
    """1.3 times as wide at most where n·p(1 − p) exceeds 20, p being the share of ones among the reports."""
    compared = 0
    for population, ones, epsilon, rate in drawn(100, 4):
        flip, reports = 1 / (math.exp(epsilon) + 1), max(1, round(population * rate))
        seen = round(reports * flip + ones * rate * (1 - 2 * flip))
        spread = seen * (1 - seen / reports)
        if spread <= 20:
            continue
        compared += 1
        bits = RandomizedBits(reports, flip, 1 - flip, rate)
        low, high = bounds(bits, [seen], bits.most, 0.05)
        variance = reports * flip * (1 - flip) / (1 - 2 * flip) ** 2 + ones * rate * (1 - rate)
        assert high[0] - low[0] <= 1.3 * 2 * norm.isf(0.025) * math.sqrt(variance) / rate + 1
    assert compared > 33


@pytest.mark.parametrize("rate", [0.001, 0.2, 0.99])
def test_largest_population_sends_so_few_reports_with_one_in_a_million(rate):
    for reports in (1, 30, 10_000):
        most = RandomizedBits(reports, 0.1, 0.9, rate).most
        assert binom.cdf(reports, most, rate) > 1e-6 >= binom.cdf(reports, most + 1, rate) * (1 - 1e-6)
    assert RandomizedBits(30, 0.1, 0.9).most == 30


def test_intervals_of_every_bit_are_within_the_population():
    for population, _, epsilon, rate in itertools.islice(drawn(20, 5), 20):
        reports = max(1, round(population * rate))
        flip = 1 / (math.exp(epsilon) + 1)
        bits = RandomizedBits(reports, flip, 1 - flip, rate)
        for interval in randomized_bits.intervals(bits, [0, reports // 2, reports]):
            for low, high in zip(interval.low, interval.high, strict=True):
                assert 0 <= low <= high <= bits.most

"""Intervals for numbers of devices hold as often as they say, by sums over all that can come in."""

import math
import random

import pytest
from scipy.stats import binom, norm

from panprivacy.statistics.intervals import randomized_bits
from panprivacy.statistics.intervals.exact import bounds
from panprivacy.statistics.intervals.randomized_bits import RandomizedBits
from panprivacy.statistics.intervals.release_rule import ReleaseRule
from tests.panprivacy.statistics.intervals.truths import coverage

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


@pytest.mark.parametrize(
    ("population", "ones", "epsilon", "rate"),
    [(70, 1, 6, 1), (500, 1, 8, 1), (10_000, 50, 10, 0.01)],
)
def test_intervals_hold_where_a_normal_approximation_misses_often(population, ones, epsilon, rate):
    """Of 1.96 standard errors around the unbiased estimate fewer than 86% hold the truth here."""
    assert coverage(population, ones, epsilon, rate, 0.05).of_released >= 0.95


@pytest.mark.parametrize(("seed", "count"), [(1, 15), pytest.param(3, 160, marks=pytest.mark.long)])
def test_intervals_hold_at_truths_drawn_at_random(seed, count):
    for population, ones, epsilon, rate in drawn(count, seed):
        held = coverage(population, ones, epsilon, rate, 0.05)
        assert held.of_all >= LEAST, (population, ones, epsilon, rate)
        if held.nothing < 0.5:
            assert held.of_released >= LEAST, (population, ones, epsilon, rate)


@pytest.mark.parametrize("probability", [0.01, pytest.param(0.5, marks=pytest.mark.long)])
def test_intervals_that_are_released_hold_where_a_release_is_rare(probability):
    """Of what large numbers of reports state without regard to that, none may hold."""
    points = [
        *drawn(5, "released"),
        (10_000, 10_000, 15, 0.3),
        (1_000, 1_000, 4, 0.9),
        (2_000, 300, 8, 0.01),
    ]
    for population, ones, epsilon, rate in points:
        cohort = int(binom.isf(probability, population, rate))
        if cohort > 1 and rate < 1:
            held = coverage(population, ones, epsilon, rate, 0.05, cohort)
            assert held.of_released >= LEAST, (population, ones, epsilon, rate, cohort)


def test_interval_is_as_short_as_ever_where_far_more_than_a_cohort_report():
    bits = [RandomizedBits(1_000, 0.1, 0.9, 0.5, rule=ReleaseRule(cohort, 0.5)) for cohort in (1, 850, 1_000)]
    ever, far, near = (randomized_bits.intervals(one, [500])[0] for one in bits)
    assert far == ever
    assert near.high == ever.high
    assert near.low[0] < ever.low[0]


def test_intervals_hold_at_other_levels():
    failure_probability = 0.05 / 1_001
    for population, ones, epsilon, rate in drawn(8, "levels"):
        held = coverage(population, ones, epsilon, rate, failure_probability)
        assert 1 - held.of_all <= failure_probability * 1.1 + 2e-5, (population, ones, epsilon, rate)


def test_intervals_are_no_wider_than_a_valid_normal_approximation():
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
        assert 0 <= low[0] <= high[0] <= bits.most
        variance = reports * flip * (1 - flip) / (1 - 2 * flip) ** 2 + ones * rate * (1 - rate)
        assert high[0] - low[0] <= 1.3 * 2 * norm.isf(0.025) * math.sqrt(variance) / rate + 1
    assert compared > 33


@pytest.mark.parametrize("rate", [0.001, 0.2, 0.99])
def test_largest_population_sends_so_few_reports_with_one_in_a_million(rate):
    for reports in (1, 30, 10_000):
        most = RandomizedBits(reports, 0.1, 0.9, rate).most
        assert binom.cdf(reports, most, rate) > 1e-6 >= binom.cdf(reports, most + 1, rate) * (1 - 1e-6)
    assert RandomizedBits(30, 0.1, 0.9).most == 30

"""Intervals of released results hold as often as stated, and are no longer than they have to be."""

import math

import pytest

from panprivacy.statistics.intervals import randomized_bits
from panprivacy.statistics.intervals.randomized_bits import RandomizedBits
from panprivacy.statistics.intervals.release_rule import ReleaseRule
from panprivacy.statistics.randomized.vector_mean import VectorMean, VectorMeanParameters
from tests.panprivacy.statistics.intervals.coverage_suite import COHORTS, INTERVALS, LEAST, held, points
from tests.panprivacy.statistics.intervals.truths import coverage, coverage_of_coordinate


@pytest.mark.parametrize("needed", COHORTS)
@pytest.mark.parametrize("interval", INTERVALS)
@pytest.mark.parametrize(("first", "every"), [(3, 202), pytest.param(0, 58, marks=pytest.mark.long)])
def test_intervals_of_what_is_released_hold_over_the_grid(interval, needed, first, every):
    found = {point: held(interval, point) for point in points(interval, needed)[first::every]}
    known = {point: one for point, one in found.items() if one is not None}
    assert known
    assert min(known.values()) >= LEAST, known


@pytest.mark.parametrize(("population", "cohort"), [(1_000, 100), (1_050, 100)])
def test_counts_of_two_servers_hold_where_few_collections_come_out(population, cohort):
    """All devices have the event; with the cohort alone as the condition 8% to 24% of intervals miss."""
    found = coverage(population, population, 6, 0.1, 0.05, cohort, noisy=True)
    assert 0.04 < 1 - found.nothing < 0.24
    assert found.of_released >= LEAST


@pytest.mark.parametrize(("population", "having", "epsilon"), [(40, 1, 10), (100, 3, 15), (40, 39, 10)])
def test_shares_hold_with_few_devices(population, having, epsilon):
    """The ends of a count, divided by reports/q, miss up to 31.6%."""
    assert coverage(population, having, epsilon, 0.9, 0.05, of_share=True).of_all >= LEAST


@pytest.mark.parametrize("noisy", [False, True])
@pytest.mark.parametrize(
    ("epsilon", "delta", "cohort", "rate", "population", "share"),
    [(10, 1e-6, 100, 0.1, 1_000, 0.98), (3, 1e-6, 100, 0.1, 1_100, 0.98), (20, 0.1, 2, 0.01, 400, 0.75)],
)
def test_vectors_hold_where_nearly_all_devices_have_the_same(
    epsilon, delta, cohort, rate, population, share, noisy
):
    """With the spread at the estimate, 7% to 27% of intervals miss."""
    parameters = VectorMeanParameters(
        epsilon=epsilon, delta=delta, cohort_size=cohort, dimension=1, sampling_rate=rate
    ).calibrated()
    statistic = VectorMean(parameters)
    asked = statistic.with_noisy_count() if noisy else statistic
    assert coverage_of_coordinate(asked, population, round(share * population)).of_released >= LEAST


def test_numbers_hold_where_devices_send_dummies():
    """Devices report more often than they count."""
    for population, having, epsilon, cohort in [(200, 200, 6, 70), (200, 20, 2, 50), (60, 60, 15, 30)]:
        found = coverage(population, having, epsilon, 0.2, 0.05, cohort, reporting=0.36)
        assert 1 - found.nothing >= 0.01
        assert found.of_released >= LEAST


@pytest.mark.parametrize(
    ("reports", "rate", "epsilon", "cohort", "noisy"),
    [(500, 0.5, 0.2, 400, False), (5_000, 0.1, 0.5, 4_500, False), (5_000, 0.1, 0.5, 4_000, True)],
)
def test_an_interval_is_as_short_as_any_where_a_release_is_certain(reports, rate, epsilon, cohort, noisy):
    """However noisy the ones are, so many reports do not come of a population that rarely sends a cohort."""
    flip = 1 / (math.exp(epsilon) + 1)
    for share in (0.2, 0.9):
        seen = round(reports * (flip + share * (1 - 2 * flip)))
        found = RandomizedBits(reports, flip, 1 - flip, rate, 1, ReleaseRule(cohort, rate, noisy))
        (interval,) = randomized_bits.intervals(found, [seen])[:1]
        (shortest,) = randomized_bits.intervals(found, [seen], certain=True)[:1]
        assert interval.high == shortest.high
        assert interval.high[0] - interval.low[0] <= 1.05 * (shortest.high[0] - shortest.low[0])

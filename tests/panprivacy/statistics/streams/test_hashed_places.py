"""How many places are touched by items that fall anywhere."""

import numpy as np
import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st

from panprivacy.statistics.streams.hashed_places import LARGEST_STANDARD_ERROR, HashedPlaces


@given(st.integers(2, 10**9), st.floats(0, 3))
def test_items_are_the_inverse_of_touched_places(places, load):
    hashed = HashedPlaces(places)
    share = hashed.touched(load * places)
    if share < hashed.full:
        assert hashed.items(share) == pytest.approx(load * places, rel=1e-6, abs=1e-6 * places)


@given(st.integers(2, 10**6), st.floats(0, 0.9))
def test_slope_is_that_of_items(places, share):
    hashed = HashedPlaces(places)
    if share + 2e-6 < hashed.full:
        difference = (hashed.items(share + 1e-6) - hashed.items(share)) / 1e-6
        assert hashed.slope(share) == pytest.approx(difference, rel=1e-3)


def test_items_of_all_places_are_as_many_as_leave_half_a_place():
    hashed = HashedPlaces(1_000)
    assert hashed.items(1.0) == hashed.items(7.0) == hashed.items(hashed.full)
    assert hashed.items(1.0) == pytest.approx(1_000 * np.log(2_000), rel=1e-3)


def missed_by_intervals(standard_error):
    """How often an interval of the delta method misses the number of items, if the share is normal."""
    normal = np.linspace(-9, 9, 100_001)
    untouched = 1 - standard_error * normal  # as a part of its expectation
    left = np.maximum(untouched, 1e-9)
    weights = scipy.stats.norm.pdf(normal) * 18 / 100_000
    return weights @ (np.abs(np.log(left)) > 1.96 * standard_error / left)


def test_intervals_by_the_delta_method_miss_with_five_percent_at_most():
    errors = np.linspace(0.01, LARGEST_STANDARD_ERROR, 25)
    assert max(map(missed_by_intervals, errors)) < 0.0501
    assert missed_by_intervals(2 * LARGEST_STANDARD_ERROR) > 0.06


@pytest.mark.statistical
@pytest.mark.parametrize("table_size", [1, 20, 50])
def test_variance_and_expectation_are_those_of_items_thrown_at_places(table_size):
    # 4,000 runs: 6 standard deviations of the mean and, at about 2σ⁴/n, of the variance: 2·10^-9 each,
    # which leaves room for what is only about normal.
    runs = 4_000
    rng = np.random.default_rng(table_size)
    thrown = rng.integers(0, 50, (runs, 60))
    touched = np.zeros((runs, 50), dtype=bool)
    touched[np.arange(runs)[:, None], thrown] = True
    shares = touched[:, :table_size].mean(axis=1)
    hashed = HashedPlaces(50)
    expected = hashed.touched(60)
    variance = hashed.variance(expected, table_size)
    assert abs(shares.mean() - expected) < 6 * np.sqrt(variance / runs)
    assert shares.var() == pytest.approx(variance, rel=6 * np.sqrt(2 / runs))

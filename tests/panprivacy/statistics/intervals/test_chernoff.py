"""Bounds by Chernoff, weighed against exact sums over every observation: nothing is drawn."""

from math import comb

import pytest

from panprivacy.statistics.intervals.chernoff import largest_mean, largest_size, least_mean, least_size

FAILURE = 0.01
SLACK = 1e-12


def chances(n, p):
    return [comb(n, x) * p**x * (1 - p) ** (n - x) for x in range(n + 1)]


def sum_of_two(first, second):
    """The distribution of a sum, from those of two independent parts."""
    found = [0.0] * (len(first) + len(second) - 1)
    for x, p in enumerate(first):
        for y, q in enumerate(second):
            found[x + y] += p * q
    return found


@pytest.mark.parametrize("p", [0.0, 0.001, 0.1, 0.5, 0.97, 1.0])
@pytest.mark.parametrize("n", [1, 7, 60])
def test_a_mean_is_missed_no_more_often_than_stated(n, p):
    of = chances(n, p)
    assert sum(of[x] for x in range(n + 1) if least_mean(x, n, FAILURE) > p) <= FAILURE + SLACK
    assert sum(of[x] for x in range(n + 1) if largest_mean(x, n, FAILURE) < p) <= FAILURE + SLACK


def test_the_mean_of_bits_that_differ_is_bounded_too():
    of, mean = sum_of_two(chances(20, 0.8), chances(40, 0.2)), (20 * 0.8 + 40 * 0.2) / 60
    assert sum(p for x, p in enumerate(of) if least_mean(x, 60, FAILURE) > mean) <= FAILURE
    assert sum(p for x, p in enumerate(of) if largest_mean(x, 60, FAILURE) < mean) <= FAILURE


@pytest.mark.parametrize("rate", [0.02, 0.5, 0.99])
@pytest.mark.parametrize("size", [0, 1, 12, 90])
def test_a_size_is_missed_no_more_often_than_stated(size, rate):
    of = chances(size, rate)
    assert sum(of[x] for x in range(size + 1) if least_size(x, rate, FAILURE) > size) <= FAILURE + SLACK
    assert sum(of[x] for x in range(size + 1) if largest_size(x, rate, FAILURE) < size) <= FAILURE + SLACK


def test_where_everybody_was_drawn_the_size_is_known():
    assert least_size(17, 1.0, 1e-9) == largest_size(17, 1.0, 1e-9) == 17


def test_bounds_come_near_to_the_truth_as_more_is_seen():
    """They are no bounds of nothing: at a million bits, within 0.4% of n."""
    n = 1_000_000
    assert 0.296 < least_mean(0.3 * n, n, 1e-7) < 0.3 < largest_mean(0.3 * n, n, 1e-7) < 0.304
    assert 0.98 * n < least_size(0.5 * n, 0.5, 1e-7) < n < largest_size(0.5 * n, 0.5, 1e-7) < 1.02 * n

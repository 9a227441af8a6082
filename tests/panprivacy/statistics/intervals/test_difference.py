"""Differences of two results hold the truth as often as they say."""

import math

import numpy as np
import pytest

from panprivacy.statistics.events.count_nonzero import CountNonzero
from panprivacy.statistics.intervals.difference import joint_difference, widened
from panprivacy.statistics.intervals.estimate import Interval, normal_factor


def normal(value: float, error: float, values: int = 1) -> Interval:
    return Interval.around(0.95, [value] * values, [normal_factor(0.05, values) * error] * values)


def test_the_difference_lies_between_those_of_the_ends():
    found = joint_difference(
        [10.0], [14.0], Interval(0.95, (7.0,), (11.0,)), Interval(0.95, (13.0,), (19.0,))
    )
    assert found.values == (4.0,)
    assert found.interval == Interval(0.95, (2.0,), (12.0,))
    assert found.more_than_noise == (True,)


def test_several_results_are_widened_as_laplace_errors_under_a_union_bound():
    """The end of an interval at 1 − a lies at −ln(a) scales of a Laplace distribution, above and below."""
    scale = 7.0
    found = widened([1.0] * 3, Interval.around(0.95, [1.0] * 3, [-math.log(0.05 / 3) * scale] * 3), among=10)
    assert found.level == pytest.approx(0.99)
    assert found.high == pytest.approx((1 - math.log(0.01 / 3) * scale,) * 3)
    assert found.low == pytest.approx((1 + math.log(0.01 / 3) * scale,) * 3)


def test_an_interval_that_lies_beside_its_estimate_is_never_made_narrower():
    """A negative estimate of a count whose interval begins at 0."""
    found = widened([-5.0], Interval(0.95, (0.0,), (None,)), among=9)
    assert found.low[0] <= 0
    assert found.high == (None,)
    # Two results need nothing wider.
    interval = Interval(0.95, (2.0,), (3.0,))
    assert widened([2.5], interval, among=2, step=1.0) == interval


@pytest.mark.parametrize(("epsilon", "among"), [(1.0, 10), (5.0, 3)])
def test_widened_counts_of_few_devices_hold_as_often_as_many_results_need(epsilon, among):
    """Summed over everything that 50 devices may say, so that this fails by no chance."""
    devices, keep = 50, 1 / (1 + math.exp(-epsilon))
    found = [widened(values, ends, among, step=1.0) for values, ends in _counts(epsilon, devices)]
    low, high = (np.array([getattr(one, end)[0] for one in found]) for end in ("low", "high"))
    for having in range(devices + 1):
        missed = _ones(having, devices, keep)[(having < low) | (high < having)].sum()
        assert missed <= 0.1 / among, having  # without `step` up to 2.8 times that


def test_an_open_end_leaves_the_difference_open_in_its_reach():
    found = joint_difference([5.0], [9.0], Interval(0.95, (4.0,), (None,)), Interval(0.95, (8.0,), (10.0,)))
    assert found.interval == Interval(0.95, (None,), (6.0,))
    assert found.more_than_noise == (False,)


def test_results_of_different_shapes_or_levels_have_no_difference():
    with pytest.raises(ValueError, match="as many values"):
        joint_difference([0.0], [0.0, 1.0], normal(0, 1), normal(0, 1, 2))
    with pytest.raises(ValueError, match="one level"):
        joint_difference([0.0], [0.0], normal(0, 1), Interval(0.66, (-1.0,), (1.0,)))


@pytest.mark.parametrize("epsilon", [1.0, pytest.param(8.0, marks=pytest.mark.long)])
def test_differences_of_counts_hold_also_where_few_devices_have_the_event(epsilon):
    """Summed over everything that two rounds of 80 devices may say, so that this fails by no chance."""
    devices, keep = 80, 1 / (1 + math.exp(-epsilon))
    counts = [
        (values, widened(values, ends, among=4, step=1.0)) for values, ends in _counts(epsilon, devices)
    ]
    found = [
        [joint_difference(before, after, one, other).interval for after, other in counts]
        for before, one in counts
    ]
    low = np.array([[interval.low[0] for interval in row] for row in found])
    high = np.array([[interval.high[0] for interval in row] for row in found])
    for before, after in [(0, 0), (0, 3), (1, 4), (2, 40), (40, 40), (3, 79)]:
        chances = np.outer(_ones(before, devices, keep), _ones(after, devices, keep))
        held = chances[(low <= after - before) & (after - before <= high)].sum()
        assert held >= 0.95, (before, after)


def _counts(epsilon: float, devices: int) -> list[tuple[tuple[float, ...], Interval]]:
    """The estimate and its interval, for each number of ones."""
    members = {"epsilon": epsilon, "delta": 1e-6, "steps": 1, "cohort_size": 2}
    statistic = CountNonzero(CountNonzero.parameters_class.from_mapping(members).calibrated())
    estimates = [statistic.estimate([ones], devices) for ones in range(devices + 1)]
    return [(estimate.values, estimate.stated_intervals()[0]) for estimate in estimates]


def _ones(having: int, devices: int, keep: float) -> np.ndarray:
    """The distribution of ones among the reports."""
    found = np.ones(1)
    for device in range(devices):
        report = keep if device < having else 1 - keep
        found = np.convolve(found, [1 - report, report])
    return found

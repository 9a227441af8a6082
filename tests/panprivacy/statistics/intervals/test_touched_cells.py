"""Intervals for shares of a universe hold as often as they say, by sums over all that can be drawn."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, hypergeom

from panprivacy.statistics.intervals.exact import bounds, probability_at_most
from panprivacy.statistics.intervals.touched_cells import TouchedCells


def distribution(touched, cells, universe, epsilon):
    """Of the noisy number of ones, from a lowest number on; and this one. By plain convolution."""
    noise = np.arange(-round(30 / epsilon), round(30 / epsilon) + 1)
    laplace = np.exp(-epsilon * np.abs(noise))
    found = np.zeros(cells + noise.size)
    for chosen in range(min(cells, touched) + 1):
        ones = np.convolve(
            binom.pmf(np.arange(chosen + 1), chosen, 0.5 + epsilon / 4),
            binom.pmf(np.arange(cells - chosen + 1), cells - chosen, 0.5),
        )
        found += hypergeom.pmf(chosen, universe, touched, cells) * np.convolve(ones, laplace / laplace.sum())
    return found, int(noise[0])


def family(cells, universe, epsilon):
    drawn = cells * (universe - cells) / max(1, universe - 1)
    return TouchedCells(cells, drawn, universe, 0.5, 0.5 + epsilon / 4, 1 / Fraction(epsilon))


@given(st.integers(1, 60), st.sampled_from([0.05, 0.2, 0.5]), st.data())
@settings(max_examples=settings.default.max_examples // 5)
def test_tails_are_those_of_the_convolution_where_every_item_has_a_cell(cells, epsilon, data):
    touched = data.draw(st.integers(0, cells))
    expected, lowest = distribution(touched, cells, cells, epsilon)
    seen = np.arange(lowest, lowest + expected.size)
    found = probability_at_most(family(cells, cells, epsilon), np.full(seen.shape, touched), seen)
    assert found == pytest.approx(np.cumsum(expected), abs=2e-9)


@pytest.mark.parametrize("epsilon", [0.2, 1 / 300, pytest.param(1 / 5_000, marks=pytest.mark.long)])
def test_tails_of_laplace_noise_are_right_to_nine_digits_however_wide(epsilon):
    """Where ten deviations were taken for all of it, and the slow fall of its characteristic function was
    cut off early, they were wrong by 5e-7."""
    expected, lowest = distribution(3, 5, 5, epsilon)
    seen = np.linspace(lowest, lowest + expected.size - 1, 25).astype(np.int64)
    seen = np.append(seen, [round(side * part / epsilon) for side in (-1, 1) for part in (1, 5, 12, 14, 16)])
    found = [float(probability_at_most(family(5, 5, epsilon), np.array([3]), np.array([x]))[0]) for x in seen]
    assert found == pytest.approx(np.cumsum(expected)[seen - lowest], abs=2e-9)


@pytest.mark.parametrize(
    ("cells", "universe", "epsilon"),
    [pytest.param(20, 20, 0.05, marks=pytest.mark.long), (20, 60, 0.5), (2, 9, 0.5)],
)
def test_intervals_hold_whatever_share_is_touched(cells, universe, epsilon):
    chances, lowest = distribution(0, cells, universe, epsilon)
    seen = range(lowest, lowest + chances.size)
    low, high = bounds(family(cells, universe, epsilon), seen, universe, 0.05)
    for touched in {0, 1, universe // 3, universe // 2, universe}:
        chances, _ = distribution(touched, cells, universe, epsilon)
        assert chances @ ((low <= touched) & (touched <= high)) >= 0.945

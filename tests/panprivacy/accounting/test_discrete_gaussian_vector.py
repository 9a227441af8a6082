"""Second methods: the definition summed over whole lattices, the exact sum of one coordinate, mpmath."""

import math

import numpy as np
import pytest
from mpmath import mp

from panprivacy.accounting.discrete_gaussian_sum import delta_of
from panprivacy.accounting.discrete_gaussian_vector import (
    _ROUNDING,
    _ROUNDING_ERROR,
    DiscreteGaussianVector,
)
from panprivacy.accounting.gaussian import Gaussian
from tests.panprivacy.accounting.contract import CohortContract


class TestDiscreteGaussianVector(CohortContract):
    @pytest.fixture
    def event(self):
        return DiscreteGaussianVector(n=1_000, scale=7.5, sensitivity=64.5, dimension=100)


def coordinate(n, scale):
    """Probabilities of a sum of n discrete Gaussians on −reach..reach, by plain convolution."""
    reach = math.ceil(9 * scale)
    weights = np.exp(-(np.arange(-reach, reach + 1.0) ** 2) / (2 * scale**2))
    one = found = weights / weights.sum()
    for _ in range(n - 1):
        found = np.convolve(found, one)
    return found


def by_definition(n, scale, move, epsilon):
    """δ for one Δ, over every point of the lattice."""
    with_it, without = np.ones(()), np.ones(())
    for by in move:
        alone, moved = np.pad(coordinate(n, scale), (0, by)), np.pad(coordinate(n, scale), (by, 0))
        with_it, without = np.multiply.outer(with_it, moved), np.multiply.outer(without, alone)
    return np.maximum(0.0, with_it - math.exp(epsilon) * without).sum()


@pytest.mark.parametrize("move", [(9,), (1,), (6, 6, 3), (0, 9), (1, 0, 0), (3, 3), (2, 1, 2)])
@pytest.mark.parametrize(("n", "scale"), [(1, 2.0), (1, 4.5), (3, 2.7)])
def test_delta_bounds_that_of_every_move_over_the_whole_lattice(n, scale, move):
    """Moves of the same length in one direction or in many: the bound knows the length alone."""
    event = DiscreteGaussianVector(n=n, scale=scale, sensitivity=math.hypot(*move), dimension=len(move))
    for epsilon in (0.0, 0.3, 1.0, 2.5):
        exact = by_definition(n, scale, move, epsilon)
        assert exact <= event.delta(epsilon) * (1 + 1e-9) + 1e-14


def test_delta_of_much_noise_lies_little_above_that_of_the_whole_lattice():
    event = DiscreteGaussianVector(n=2, scale=15.0, sensitivity=math.hypot(12, 9), dimension=2)
    for epsilon in (0.2, 1.0):
        exact = by_definition(2, 15.0, (12, 9), epsilon)
        assert exact < event.delta(epsilon) < 1.03 * exact


@pytest.mark.parametrize("n", [1, 2, 100, 10**9])
@pytest.mark.parametrize(("scale", "sensitivity"), [(2.0, 1), (2.0, 40), (300.0, 5_000)])
def test_delta_of_one_coordinate_bounds_the_exact_sum_tightly(n, scale, sensitivity):
    event = DiscreteGaussianVector(n=n, scale=scale, sensitivity=sensitivity, dimension=1)
    sigma = scale * math.sqrt(n)
    for delta in (1e-2, 1e-6, 1e-10):
        epsilon = event.epsilon(delta)
        if epsilon > 20:  # where neighbouring points of the lattice differ by large factors
            continue
        assert delta_of(n, scale, sensitivity, epsilon) <= delta * (1 + 1e-6)
        if sigma >= 200 and epsilon > 0:
            # That much less noise, and the exact sum would break what was promised.
            assert delta_of(n, scale * 0.99, sensitivity, epsilon) > delta


@pytest.mark.parametrize("centre", [0.0, 0.25, 0.5, 0.77])
def test_rounding_gives_the_discrete_gaussian_up_to_the_stated_factor(centre):
    """Weights of N_Z(y, r²) add up to nearly the same for all y, with 40 digits."""
    with mp.workdps(40):
        r = mp.mpf(_ROUNDING)
        total = mp.nsum(lambda z: mp.exp(-((z - centre) ** 2) / (2 * r**2)), [-60, 60])
        theta = total / (r * mp.sqrt(2 * mp.pi)) - 1
        assert abs(theta) <= 2.01 * mp.exp(-2 * (mp.pi * r) ** 2)
        # Of both densities, normalized: one over the lattice for each y, one over it once.
        assert abs(mp.log(1 + theta)) + 2.01 * mp.exp(-2 * (mp.pi * 2) ** 2) < _ROUNDING_ERROR


def test_epsilon_is_that_of_the_paper_for_the_continuous_noise():
    """SAA Example 3: σ = 5.1 gives (1, 1e-8), also on a fine lattice over ten thousand devices."""
    lattice, n = 4096.0, 10_000
    event = DiscreteGaussianVector(
        n=n, scale=5.1 * lattice / math.sqrt(n), sensitivity=lattice, dimension=1_024
    )
    found = event.epsilon(1e-8)
    assert Gaussian(sigma=5.1).epsilon(1e-8) < found < 1.0000638 * (1 + 1e-6)


@pytest.mark.parametrize("dimension", [1, 1_000_000])
@pytest.mark.parametrize("n", [1, 10**12])
@pytest.mark.parametrize("sensitivity", [1.0, 1e9])
def test_delta_at_the_ends_of_every_range_is_a_probability(dimension, n, sensitivity):
    for scale in (2.0, 1e9):
        event = DiscreteGaussianVector(n=n, scale=scale, sensitivity=sensitivity, dimension=dimension)
        found = [event.delta(epsilon) for epsilon in (0.0, 1e-6, 1.0, 1e9)]
        assert all(0 <= delta <= 1 for delta in found)
        assert found == sorted(found, reverse=True)

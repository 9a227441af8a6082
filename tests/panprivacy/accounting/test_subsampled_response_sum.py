"""Bits that count now and then: every assignment and outcome, and what is known at the ends of the ranges."""

import itertools
import math

import numpy as np
import pytest
import scipy

from panprivacy.accounting.randomized_response_sum import RandomizedResponseSum
from panprivacy.accounting.sampling import amplified_epsilon
from panprivacy.accounting.subsampled_response_sum import SubsampledResponseSum
from tests.panprivacy.accounting.contract import CohortContract


class TestContract(CohortContract):
    @pytest.fixture
    def event(self):
        return SubsampledResponseSum(n=1_000, epsilon0=2.0, rate=0.3)


def sum_of_bits(probabilities):
    """The distribution of a sum of independent bits."""
    found = np.ones(1)
    for one in probabilities:
        found = np.convolve(found, [1 - one, one])
    return found


def hockey_stick(p, q, epsilon):
    return float(np.maximum(p - math.exp(epsilon) * q, 0.0).sum())


@pytest.mark.parametrize("n", [1, 2, 7, 15])
@pytest.mark.parametrize("epsilon0", [0.3, 2.0, 6.0])
@pytest.mark.parametrize("rate", [0.02, 0.5, 1.0])
def test_delta_lies_above_every_assignment_and_outcome_in_both_directions(n, epsilon0, rate):
    p = 1 / (math.exp(epsilon0) + 1)
    a = p + rate * (1 - 2 * p)
    event = SubsampledResponseSum(n=n, epsilon0=epsilon0, rate=rate)
    for share in (0.0, 0.05, 0.4, 0.9, 1.0):
        epsilon = share * event.largest_loss
        worst = 0.0
        for often, seldom in itertools.product(range(n), repeat=2):
            if often + seldom > n - 1:
                continue
            others = [a] * often + [(a + p) / 2] * seldom + [p] * (n - 1 - often - seldom)
            one, zero = sum_of_bits([*others, a]), sum_of_bits([*others, p])
            worst = max(worst, hockey_stick(one, zero, epsilon), hockey_stick(zero, one, epsilon))
        found = event.delta(epsilon)
        assert worst <= found * (1 + 1e-10) + 1e-14
        if n == 1:
            assert found == pytest.approx(worst, rel=1e-9, abs=1e-14)


@pytest.mark.parametrize(("rate", "at_most"), [(0.01, 1.01), (0.1, 1.06), (0.9, 1.07)])
def test_epsilon_is_hardly_above_that_of_others_without_the_bit(rate, at_most):
    """10,000 devices: the unanimous assignment, outcome by outcome."""
    n, epsilon0 = 10_000, 2.0
    p = 1 / (math.exp(epsilon0) + 1)
    others = scipy.stats.binom.pmf(np.arange(n), n - 1, p)
    one, zero = (np.convolve(others, [1 - x, x]) for x in (p + rate * (1 - 2 * p), p))
    epsilon = SubsampledResponseSum(n=n, epsilon0=epsilon0, rate=rate).epsilon(1e-6)
    worst = [
        max(hockey_stick(one, zero, e), hockey_stick(zero, one, e)) for e in (epsilon, epsilon / at_most)
    ]
    assert worst[0] <= 1e-6 < worst[1]


def test_bit_that_always_counts_is_randomized_response():
    always = SubsampledResponseSum(n=10_000, epsilon0=2.0, rate=1.0)
    assert always.epsilon(1e-6) == pytest.approx(
        RandomizedResponseSum(n=10_000, epsilon0=2.0).epsilon(1e-6), rel=1e-8
    )


@pytest.mark.parametrize("epsilon0", [1e-6, 1.0, 50.0])
@pytest.mark.parametrize("rate", [1e-9, 0.01, 1.0])
@pytest.mark.parametrize("n", [1, 65, pytest.param(10**9, marks=pytest.mark.long)])
def test_loss_at_the_ends_of_all_ranges_is_at_most_that_of_one_report(n, epsilon0, rate):
    event = SubsampledResponseSum(n=n, epsilon0=epsilon0, rate=rate)
    assert event.largest_loss == amplified_epsilon(epsilon0, rate)
    # At ε = 0 no sum tells more than the one report does: the difference of the two probabilities.
    assert 0 < event.delta(0.0) <= rate * math.tanh(epsilon0 / 2) * (1 + 1e-9) + 1e-30
    assert event.delta(event.largest_loss) == 0
    assert 0 <= event.epsilon(1e-6) <= event.largest_loss

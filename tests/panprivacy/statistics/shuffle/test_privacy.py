"""What whoever reads all shuffled messages can tell, computed outcome by outcome, against what is stated.

Messages of one place are told apart from those of others, and all that a random order leaves of them is how
many ones there are. So the view is one number per place (two for `uniformity`, whose noise varies in number).
"""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom, poisson

from panprivacy.accounting.binomial_noise import poisson_epsilon, shift_delta
from panprivacy.statistics.shuffle.distinct_elements import DistinctElements, DistinctElementsParameters
from panprivacy.statistics.shuffle.histogram import ShuffledBitSum, least_users
from panprivacy.statistics.shuffle.parameters import ShuffleParameters
from panprivacy.statistics.shuffle.uniformity import Uniformity, UniformityParameters


def hockey_stick(first, second, epsilon):
    """The smallest δ for both directions; two distributions over the same outcomes."""
    one = np.maximum(first - math.exp(epsilon) * second, 0).sum()
    other = np.maximum(second - math.exp(epsilon) * first, 0).sum()
    return max(one, other)


def ones_of_place(with_value, others, shares, flip):
    """The distribution of the number of ones of one place, from users with its value and others."""
    fair = np.array([math.comb(shares, ones) for ones in range(shares + 1)]) / 2**shares
    sign = np.array([(-1) ** ones for ones in range(shares + 1)])
    distribution = np.ones(1)
    for one_user in [fair] * with_value + [fair * (1 + (1 - 2 * flip) * sign)] * others:
        distribution = np.convolve(distribution, one_user)
    return distribution


TINY = DistinctElementsParameters(epsilon=0.7, delta=2e-3, cohort_size=12, k=3)


@pytest.mark.parametrize("honest", [12, 8, 6, 4, 2])
@pytest.mark.parametrize("already", [0, 1])
def test_place_of_distinct_elements_is_hidden_as_stated(honest, already):
    statistic = DistinctElements(TINY)
    shares, flip = TINY.shares, statistic.flip_probability
    total_epsilon, total_delta, _ = statistic.privacy_of(honest)
    without = ones_of_place(already, honest - already, shares, flip)
    with_one = ones_of_place(already + 1, honest - already - 1, shares, flip)
    assert hockey_stick(without, with_one, total_epsilon / 2) <= total_delta / 2


@pytest.mark.parametrize("honest", [12, 6])
def test_replaced_value_of_distinct_elements_is_hidden_as_found(honest):
    # Both places that change, jointly: from (one user, nobody) to (nobody, one user).
    statistic = DistinctElements(TINY)
    nobody = ones_of_place(0, honest, TINY.shares, statistic.flip_probability)
    one = ones_of_place(1, honest - 1, TINY.shares, statistic.flip_probability)
    epsilon, delta, found = statistic.privacy_of(honest)
    assert hockey_stick(np.outer(one, nobody), np.outer(nobody, one), epsilon) <= delta
    assert hockey_stick(np.outer(one, nobody), np.outer(nobody, one), found) <= delta
    # What is found is the least: a little below, it no longer holds.
    assert hockey_stick(np.outer(one, nobody), np.outer(nobody, one), found - 0.05) > delta


@pytest.mark.parametrize("honest", [12, 6, 4])
def test_parity_of_an_empty_place_is_odd_as_epsilon_says(honest):
    statistic = DistinctElements(TINY)
    ones = ones_of_place(0, honest, TINY.shares, statistic.flip_probability)
    assert ones[1::2].sum() == pytest.approx(math.exp(-statistic.privacy_of(honest)[0] / 2) / 2, rel=1e-12)


def shifted(distribution):
    return np.append(distribution, 0.0), np.insert(distribution, 0, 0.0)


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 3.0])
@pytest.mark.parametrize("delta", [1e-2, 1e-6])
@pytest.mark.parametrize("surplus", [1, 3, 20])
@pytest.mark.parametrize("gamma", [1.0, 0.5, 0.1])
def test_bit_sum_hides_one_bit_as_claim_a_5_says(epsilon, delta, surplus, gamma):
    users = surplus * least_users(epsilon, delta)
    counted = ShuffledBitSum(users, epsilon, delta)
    honest = math.ceil(gamma * users)
    stated_epsilon, stated_delta = counted.privacy_of(honest)
    noise = binom.pmf(np.arange(honest + 1), honest, counted.one_probability)
    exact = hockey_stick(*shifted(noise), stated_epsilon)
    assert exact <= stated_delta
    computed = float(shift_delta(honest, counted.one_probability, counted.zero_probability, stated_epsilon))
    assert exact <= computed * (1 + 1e-6) + 1e-14
    assert computed <= exact * (1 + 1e-6) + 1e-14
    found = counted.exact_epsilon(honest, stated_delta)
    assert found <= stated_epsilon
    assert hockey_stick(*shifted(noise), found) <= stated_delta * (1 + 1e-6)


@pytest.mark.parametrize("gamma", [1.0, 0.1])
def test_value_of_uniformity_is_hidden_as_stated(gamma):
    statistic = Uniformity(UniformityParameters(epsilon=1.0, delta=1e-2, cohort_size=1_000, k=3, alpha=0.5))
    total_epsilon, total_delta, found = statistic.privacy_of(round(1_000 * gamma))
    mean = gamma * statistic.parameters.noise_messages
    counts = np.arange(math.floor(mean - 9 * math.sqrt(mean)), math.ceil(mean + 9 * math.sqrt(mean)))

    def exact(epsilon):
        noises = (binom.pmf(np.arange(count + 1), count, 0.5) for count in counts)
        inside = sum(
            weight * hockey_stick(*shifted(noise), epsilon)
            for weight, noise in zip(poisson.pmf(counts, mean), noises, strict=True)
        )
        return inside + 1e-15

    assert exact(total_epsilon / 2) <= total_delta / 2
    assert exact(found / 2) <= total_delta / 2
    if found > 0.01:
        assert exact(found / 2 * 0.98) > total_delta / 2


@pytest.mark.parametrize("mean", [0.5, 10.0, 900.0, 1e15])
def test_found_epsilon_that_no_noise_gives_is_that_of_the_theorem(mean):
    # Without any noise message, which happens with probability e^−mean, one bit shows: no ε has a smaller δ.
    # Of more noise than can be computed with, the theorem is all that is said.
    found = poisson_epsilon(mean, 1e-6, 2.0)
    assert (found == 2.0) == (mean != 900)


def test_parameters_of_every_statistic_refuse_k_of_one():
    with pytest.raises(ValueError, match="at least 2"):
        replace(ShuffleParameters(epsilon=1.0, delta=1e-6, cohort_size=10, k=2), k=1)

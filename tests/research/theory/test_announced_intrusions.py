import math
import random
from itertools import pairwise

import numpy as np
import pytest
import scipy

from research.theory import announced_intrusions as theory
from research.theory.full_density import full_density


def test_standard_error_grows_four_over_epsilon_times_with_each_announced_look():
    errors = [theory.standard_error(10**6, count) for count in range(4)]
    for before, after in pairwise(errors):
        assert after / before == pytest.approx(4 / theory.EPSILON, rel=0.02)


@pytest.mark.parametrize("count", [0, 1, 3])
def test_required_table_size_gives_the_wanted_standard_error(count):
    # In tables so large the noise of the result does not count: the error falls with the root of the size.
    size = theory.required_table_size(count)
    possible = min(round(size), 10**6)
    error = theory.standard_error(possible, count) * math.sqrt(possible / size)
    assert error == pytest.approx(theory.TARGET, rel=1e-4)


@pytest.mark.statistical
def test_density_after_an_announced_look_has_the_computed_error_and_no_bias():
    # 80 nearly normal estimates: variance 0.35 to 2 times as computed (χ²), mean within 5.5 standard errors:
    # both fail with probability below 1e-6. A look more would make the error 8 times larger.
    repetitions, size = 80, 2_000
    assert scipy.stats.chi2.sf(80 * 2, 80) + scipy.stats.chi2.cdf(80 * 0.35, 80) < 1e-6
    density = full_density(theory.EPSILON, size, 1)
    random_source = random.Random(11)
    estimates = []
    for _ in range(repetitions):
        state = density.start(random_source)
        density.process_batch(state, np.arange(0, size, 4), random_source)
        density.announce_intrusion(state, random_source)
        density.process_batch(state, np.arange(2, size, 4), random_source)
        estimates += density.estimate(state, random_source).values
    error = theory.standard_error(size, 1)
    assert abs(np.mean(estimates) - 0.5) < 5.5 * error / math.sqrt(repetitions)
    assert 0.35 < np.mean((np.array(estimates) - 0.5) ** 2) / error**2 < 2


def seen(probabilities):
    """The distribution of two independent bits."""
    first, second = probabilities
    return np.outer([1 - first, first], [1 - second, second]).ravel()


def test_one_item_all_the_time_and_another_are_two_steps_apart_and_not_one_as_lemma_6_4_has_it():
    # The state of a density with a cell for each of two items, after either came.
    absent, present = full_density(theory.EPSILON, 2, 0).bit_probabilities(0)
    nothing, one, other = (seen(p) for p in ((absent, absent), (present, absent), (absent, present)))
    epsilon = np.abs(np.log(one / nothing)).max()
    assert np.abs(np.log(other / nothing)).max() == pytest.approx(epsilon)
    apart = np.abs(np.log(one / other)).max()
    assert apart > 1.5 * epsilon, "printed: at most ε"
    assert apart <= 2 * epsilon
    # The divergence: more than adjacent streams could have, and no more than two steps can.
    divergence = scipy.special.rel_entr(one, other).sum()
    assert epsilon * math.tanh(epsilon / 2) < divergence <= 2 * epsilon * math.tanh(epsilon)


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0])
def test_least_error_probability_allows_for_the_divergence_that_two_steps_of_epsilon_can_have(epsilon):
    # Of three answers each item makes its own likelier and the other's rarer, both as far as ε allows.
    e = math.exp(epsilon)
    likely = (1 - 1 / e) / (2 * math.sinh(epsilon))
    nothing = np.array([likely, 1 - 2 * likely, likely])
    one = np.array([likely * e, 1 - likely * (e + 1 / e), likely / e])
    other = one[::-1]
    for item in (one, other):
        assert np.abs(np.log(item / nothing)).max() == pytest.approx(epsilon)
    distance = np.abs(one - other).sum() / 2
    divergence = scipy.special.rel_entr(one, other).sum()
    assert theory.least_error_probability(epsilon) <= (1 - distance) / 2
    # Over many items nothing but the divergence is known to stay as small; ε in place of 2ε would be too
    # little at ε = 1.
    assert (1 - 2 * theory.least_error_probability(epsilon)) ** 2 >= divergence / 2
    assert divergence > epsilon or epsilon < 1


def test_least_error_probability_says_nothing_for_a_large_epsilon():
    assert theory.least_error_probability(0.5) == pytest.approx(0.2597, abs=1e-4)
    assert theory.least_error_probability(1.19) > 0
    assert theory.least_error_probability(1.2) == theory.least_error_probability(20) == 0
    assert theory.least_error(1) == 0

import math
from itertools import pairwise

import numpy as np
import pytest
import scipy

from research.theory import announced_intrusions as theory
from research.theory.full_density import full_density


def test_standard_error_grows_with_each_announced_look():
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


def seen(probabilities):
    """The distribution of two independent bits."""
    first, second = probabilities
    return np.outer([1 - first, first], [1 - second, second]).ravel()


def test_one_item_always_and_another_are_not_one_step_apart_as_lemma_6_4():
    # The state of a density with a cell for each of two items, after either came.
    first = full_density(theory.EPSILON, 2, 0).distributions(0)
    absent, present = float(first.absent), float(first.present)
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
def test_least_error_probability_allows_for_two_steps_of_epsilon(epsilon):
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

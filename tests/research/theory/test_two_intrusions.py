import math

import numpy as np
import pytest
import scipy

from panprivacy.statistics.streams.item_bits import BitDistributions
from research.theory import two_intrusions as theory


def test_unchanged_bit_of_an_item_that_never_appears_is_certain():
    assert theory.probabilities((0, 1), announced=False)[1] == 0
    assert theory.probabilities((1, 1), announced=False)[1] == 0.5
    # After an announced look the bit is drawn anew, so that a change proves nothing.
    assert theory.probabilities((0, 1), announced=True)[1] == 0.25


@pytest.mark.parametrize("announced", [False, True])
@pytest.mark.parametrize("count", [1, 2, 5])
def test_probabilities_of_all_that_can_be_seen_sum_to_one(count, announced):
    seen = np.array(np.meshgrid(*[[0, 1]] * count)).reshape(count, -1).T
    appears, never = zip(*(theory.probabilities(tuple(bits), announced) for bits in seen), strict=True)
    assert (sum(appears), sum(never)) == pytest.approx((1, 1))


def test_advantage_of_looks_by_surprise_is_the_probability_of_a_change():
    one = 0.5 + theory.EPSILON / 4
    assert theory.advantage(1, announced=False) == pytest.approx(theory.EPSILON / 4)
    assert theory.advantage(2, announced=False) == pytest.approx(2 * one * (1 - one))
    assert theory.advantage(9, announced=False) == pytest.approx(1 - one**9 - (1 - one) ** 9)


def test_advantage_of_one_look_keeps_the_bound_and_of_two_does_not():
    bound = theory.advantage_bound(theory.EPSILON)
    assert theory.advantage(1, announced=False) < bound < theory.advantage(2, announced=False)
    assert theory.advantage(8, announced=True) < bound


@pytest.mark.statistical
def test_attack_on_the_density_state_read_twice_is_as_good_as_computed():
    # Rates of 100,000 items each: 6 standard deviations of a binomial fail with probability below 1e-8. With
    # one look less the intruder would be 0.34 worse.
    hits, alarms = theory.attack(theory.states_seen(2, False, seed=3), announced=False)
    deviation = 6 * math.sqrt(0.25 / (theory.ITEMS // 2))
    assert 2 * scipy.stats.norm.sf(6) < 1e-8
    assert abs(hits - theory.advantage(2, announced=False)) < deviation
    assert alarms == 0


@pytest.mark.statistical
def test_attack_on_announced_looks_is_as_bad_as_computed():
    # The difference of two such rates: 6 of its standard deviations.
    hits, alarms = theory.attack(theory.states_seen(4, True, seed=4), announced=True)
    deviation = 6 * math.sqrt(2 * 0.25 / (theory.ITEMS // 2))
    assert abs(hits - alarms - theory.advantage(4, announced=True)) < deviation


def test_density_looks_have_the_distributions_that_are_tracked():
    # An item that appears before every look follows D₁ after all announced ones.
    after = BitDistributions.after(theory.EPSILON, 3)
    fourth = [theory.probabilities((*bits, 1), announced=True) for bits in np.ndindex(2, 2, 2)]
    assert sum(appears for appears, _ in fourth) == pytest.approx(float(after.present))
    assert sum(never for _, never in fourth) == pytest.approx(float(after.absent))

"""An event with a part of δ set aside: the same curve, so much higher."""

import pytest

from panprivacy.accounting.composition import epsilon_of
from panprivacy.accounting.discrete_gaussian_sum import DiscreteGaussianSum
from panprivacy.accounting.epsilon_delta import AdditionalDelta
from panprivacy.accounting.randomized_response_sum import RandomizedResponseSum

NOISE = DiscreteGaussianSum(n=100, scale=0.5, value_range=3)


def test_delta_adds_what_was_set_aside_and_epsilon_is_left_the_rest():
    event = AdditionalDelta(event=NOISE, probability=1e-7)
    for epsilon in (0.0, 0.5, 3.0):
        assert event.delta(epsilon) == NOISE.delta(epsilon) + 1e-7
    assert AdditionalDelta(event=NOISE, probability=1.0).delta(0.0) == 1.0
    assert event.epsilon(1e-6) == pytest.approx(NOISE.epsilon(9e-7), rel=1e-8)


def test_compositions_add_up_what_was_set_aside():
    event = RandomizedResponseSum(n=50, epsilon0=0.2)
    failing = [AdditionalDelta(event=event, probability=2e-7)] * 2
    # Together 4e-7 of δ are gone, so that the rest has to do with what is left.
    assert epsilon_of(failing, 1e-6) == pytest.approx(epsilon_of([event] * 2, 6e-7), rel=1e-3)
    assert epsilon_of(failing, 1e-6) > epsilon_of([event] * 2, 1e-6)


def test_event_over_other_numbers_of_devices_keeps_its_probability():
    over_seven = AdditionalDelta(event=NOISE, probability=1e-7).over(7)
    assert (over_seven.event.n, over_seven.probability) == (7, 1e-7)

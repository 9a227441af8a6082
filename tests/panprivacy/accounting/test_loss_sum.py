"""The sum of two losses against the definition, pair by pair, and against the composition on a lattice."""

import itertools
import math

import numpy as np
import pytest

from panprivacy.accounting.composed_loss import ComposedLoss
from panprivacy.accounting.composition import Repetition
from panprivacy.accounting.epsilon_delta import EpsilonDelta
from panprivacy.accounting.gaussian import Gaussian
from panprivacy.accounting.interface import smallest_epsilon
from panprivacy.accounting.loss_sum import LossSum
from panprivacy.accounting.number_cache import symmetric_loss_of
from panprivacy.accounting.privacy_loss import PrivacyLoss
from panprivacy.accounting.randomized_response_sum import RandomizedResponseSum

MANY = {
    "smooth": symmetric_loss_of(RandomizedResponseSum(n=1_000, epsilon0=1.0)),
    "few devices": symmetric_loss_of(RandomizedResponseSum(n=7, epsilon0=0.3)),
    "large": symmetric_loss_of(RandomizedResponseSum(n=500, epsilon0=8.0)),
    "given": symmetric_loss_of(EpsilonDelta(epsilon_given=0.5, delta_given=1e-9)),
    "gaussian": Gaussian(sigma=3.0, sampling_rate=0.1).parts()[0][0][1],
}
PAIRS = [("smooth", "smooth"), ("few devices", "large"), ("given", "smooth"), ("gaussian", "few devices")]


def by_definition(first, second, epsilon):
    """Every pair of values: all terms are positive."""
    beyond = np.add.outer(first.losses, second.losses) - epsilon
    heights = -np.expm1(-np.maximum(0.0, beyond))
    finite = math.fsum((np.multiply.outer(first.masses, second.masses) * heights).ravel())
    return finite + first.infinite + second.infinite - first.infinite * second.infinite


@pytest.mark.parametrize("pair", PAIRS, ids=" and ".join)
def test_delta_is_that_of_every_pair_of_values_in_either_order(pair):
    first, second = (MANY[name] for name in pair)
    largest = first.largest + second.largest
    for share in (0.0, 1e-6, 0.01, 0.1, 0.3, 0.5, 0.9, 0.99):
        exact = by_definition(first, second, share * largest)
        for found in (LossSum(first, second), LossSum(second, first)):
            delta = found.delta(share * largest)
            assert exact * (1 - 1e-13) <= delta <= exact * (1 + 1e-9) + 1e-40


def test_delta_around_sums_of_values_is_never_below_and_does_not_rise():
    """Where a value of one loss is all that is left of ε beside one of the other, and a digit decides."""
    first, second = MANY["few devices"], MANY["given"]
    sums = np.add.outer(first.losses, second.losses).ravel()
    around = np.sort(np.concatenate([sums, np.nextafter(sums, 0), np.nextafter(sums, 99)]))
    found = [LossSum(first, second).delta(epsilon) for epsilon in around[around > 0]]
    assert all(after <= before * (1 + 1e-12) for before, after in itertools.pairwise(found))
    for epsilon, delta in zip(around[around > 0], found, strict=True):
        assert delta >= by_definition(first, second, epsilon) * (1 - 1e-13)


@pytest.mark.parametrize("delta", [0.3, 1e-3, 1e-8, 1e-24])
@pytest.mark.parametrize("name", ["smooth", "few devices", "gaussian"])
def test_epsilon_is_that_on_a_lattice_which_lies_hardly_above(name, delta):
    loss = MANY[name]
    found, on_lattice = LossSum(loss, loss), ComposedLoss([(loss, 2)])
    epsilon = found.epsilon(delta)
    assert found.delta(epsilon) <= delta
    assert epsilon * (1 - 1e-8) <= on_lattice.epsilon(delta) <= epsilon * (1 + 1e-3)


def test_a_loss_that_tells_all_or_more_often_than_delta_promises_nothing():
    everything = PrivacyLoss(np.zeros(1), np.zeros(1), 1.0)
    assert LossSum(everything, MANY["smooth"]).delta(5.0) == 1
    assert LossSum(MANY["smooth"], everything).epsilon(1e-3) == math.inf
    assert LossSum(MANY["given"], MANY["given"]).epsilon(1.9e-9) == math.inf
    assert LossSum(MANY["given"], MANY["given"]).epsilon(2.1e-9) < 1
    nothing = symmetric_loss_of(EpsilonDelta(epsilon_given=0.0))
    assert LossSum(nothing, nothing).epsilon(1e-9) == 0


def test_quick_bound_of_two_events_is_never_below_and_hardly_above():
    event = Repetition(event=RandomizedResponseSum(n=20, epsilon0=3.0), times=2)
    for delta in (1e-3, 1e-8, 1e-15):
        epsilon = event.epsilon(delta)
        quick = smallest_epsilon(event.delta_bound, delta)
        assert epsilon * (1 - 1e-8) <= quick <= epsilon * (1 + 4e-3)

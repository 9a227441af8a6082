"""Composition against exact convolutions, against itself in another order, and at its limits."""

import itertools
import math
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from panprivacy.accounting.composed_loss import ComposedLoss
from panprivacy.accounting.composition import Repetition, delta_of, epsilon_of
from panprivacy.accounting.discrete_gaussian_sum import DiscreteGaussianSum
from panprivacy.accounting.epsilon_delta import EpsilonDelta
from panprivacy.accounting.gaussian import Gaussian
from panprivacy.accounting.one_hot_sum import OneHotSum
from panprivacy.accounting.randomized_response_sum import RandomizedResponseSum
from panprivacy.accounting.shuffling import ShuffledRandomizedResponse
from panprivacy.formats.errors import FieldError
from tests.panprivacy.accounting.by_definition import hockey_stick, randomized, released, sampled
from tests.panprivacy.accounting.contract import EventContract


class TestContract(EventContract):
    @pytest.fixture
    def event(self):
        return Repetition(event=ShuffledRandomizedResponse(n=1_000, epsilon0=1.0), times=2)


class TestContractOfGiven(EventContract):
    @pytest.fixture
    def event(self):
        return EpsilonDelta(epsilon_given=1.0)

    impossible = tuple(wrong for wrong in EventContract.impossible if wrong != 0)
    """As everywhere, but for 0, which both numbers may be."""


@pytest.mark.parametrize("delta", [1e-3, 1e-12, 1e-30])
@pytest.mark.parametrize("times", [2, 3, 1_000])
def test_epsilon_of_equal_gaussians_is_that_of_one_with_less_noise(delta, times):
    exact = Gaussian(sigma=10 / math.sqrt(times)).epsilon(delta)
    assert exact <= epsilon_of([Gaussian(sigma=10.0)] * times, delta) <= exact * (1 + 1e-3)


def sum_of_discrete_gaussians(n, scale):
    """Probabilities on −200..200 of the sum of n, by plain convolution."""
    x = np.arange(-200, 201)
    one = np.exp(-(x**2) / (2 * scale**2))
    one /= one.sum()
    total = np.zeros_like(one)
    total[200] = 1.0
    for _ in range(n):
        total = np.convolve(total, one)[200:-200]
    return total


MANY = (
    RandomizedResponseSum(n=200, epsilon0=1.0),
    RandomizedResponseSum(n=50, epsilon0=0.2),
    ShuffledRandomizedResponse(n=500, epsilon0=2.0),
    DiscreteGaussianSum(n=100, scale=0.5, value_range=1),
    EpsilonDelta(epsilon_given=0.05, delta_given=1e-9),
    OneHotSum(n=12, k=4, epsilon0=0.5),
)


@pytest.mark.parametrize("order", list(itertools.permutations(range(4)))[::5])
def test_epsilon_does_not_depend_on_the_order(order):
    events = [MANY[i] for i in (0, 1, 1, 4)]
    assert epsilon_of([events[i] for i in order], 1e-6) == epsilon_of(events, 1e-6)


@pytest.mark.parametrize(
    "event", [pytest.param(event, marks=[pytest.mark.long] * (event is MANY[3])) for event in MANY]
)
def test_epsilon_of_one_event_is_its_own_even_next_to_a_free_one(event):
    """The second goes through the distribution of losses."""
    own = event.epsilon(1e-6)
    assert epsilon_of([event], 1e-6) == own
    found = epsilon_of([event, EpsilonDelta(epsilon_given=0.0)], 1e-6)
    assert own * (1 - 1e-8) <= found <= own * (1 + 2e-3)


@settings(max_examples=settings.default.max_examples // 3)
@given(
    st.lists(st.sampled_from(MANY), min_size=1, max_size=5),
    st.sampled_from(MANY),
    st.floats(min_value=-7.5, max_value=-2),
)
def test_epsilon_grows_with_every_event_and_never_beyond_basic_composition(events, further, exponent):
    delta = 10.0**exponent
    before, after = epsilon_of(events, delta), epsilon_of([*events, further], delta)
    assert before <= after * (1 + 1e-3)
    share = delta / (len(events) + 1)
    assert after <= sum(event.epsilon(share) for event in [*events, further]) * (1 + 1e-3)


@settings(max_examples=15)
@given(st.lists(st.sampled_from(MANY), min_size=1, max_size=6), st.floats(min_value=-28, max_value=-2))
def test_delta_at_the_epsilon_of_a_delta_is_at_most_that(events, exponent):
    delta = 10.0**exponent
    try:
        epsilon = epsilon_of(events, delta)
    except FieldError:  # the given guarantee's own δ is larger
        assert MANY[4] in events
        return
    assert delta_of(events, epsilon) <= delta * (1 + 1e-6)


def test_given_guarantees_cost_their_sum_and_refuse_a_smaller_delta():
    given_one = EpsilonDelta(epsilon_given=1.0, delta_given=1e-7)
    assert epsilon_of([given_one] * 3, 3e-7) == pytest.approx(3.0, rel=1e-9)
    for events in ([given_one], [given_one] * 2, [given_one, MANY[0]]):
        with pytest.raises(FieldError, match="delta"):
            epsilon_of(events, 1e-8)


def test_composition_of_no_events_costs_nothing():
    assert epsilon_of([], 1e-6) == 0.0
    assert delta_of([], 0.0) == 0.0


def test_composition_of_different_relations_is_refused():
    with pytest.raises(FieldError, match="relation"):
        epsilon_of([Gaussian(sigma=1.0), MANY[0]], 1e-6)
    with pytest.raises(FieldError, match="relation"):
        delta_of([Gaussian(sigma=1.0), MANY[0]], 1.0)


def test_epsilon_of_rounds_split_over_events_is_that_of_all_rounds():
    def rounds(count):
        return Gaussian(sigma=5.1, sampling_rate=0.02, rounds=count)

    assert epsilon_of([rounds(2_000), rounds(500)], 1e-8) == pytest.approx(
        rounds(2_500).epsilon(1e-8), rel=1e-5
    )


def test_repeated_equals_composition_and_is_at_most_the_sum():
    event = RandomizedResponseSum(n=1_000, epsilon0=1.0)
    assert Repetition(event=event, times=3).epsilon(1e-6) == epsilon_of([event] * 3, 1e-6)
    assert Repetition(event=event, times=1).epsilon(1e-6) == event.epsilon(1e-6)
    pure = Repetition(event=ShuffledRandomizedResponse(n=2, epsilon0=3.0), times=2)
    assert pure.epsilon(1e-30) <= 6.0
    assert pure.delta(6.0) == pytest.approx(0.0, abs=1e-37)
    nested = Repetition(event=Repetition(event=event, times=2), times=3)
    assert nested.epsilon(1e-6) == pytest.approx(epsilon_of([event] * 6, 1e-6), rel=1e-9)


@pytest.mark.parametrize(("events", "delta"), [
    pytest.param([RandomizedResponseSum(n=341_244, epsilon0=2e-5)] * 2, 1e-9, marks=pytest.mark.long),
    ([RandomizedResponseSum(n=1_000, epsilon0=1e-4)] * 2, 1e-6),
    ([DiscreteGaussianSum(n=208, scale=505, value_range=5),
      Repetition(event=RandomizedResponseSum(n=7, epsilon0=0.34), times=2)], 1e-20),
])  # fmt: skip
def test_epsilon_where_two_bounds_differ_is_found_in_few_looks(monkeypatch, events, delta):
    """Bounds with and without far tails differ by up to a thousandth here; a creep would take minutes."""
    looks = []
    look = ComposedLoss.delta
    monkeypatch.setattr(ComposedLoss, "delta", lambda self, epsilon: looks.append(1) or look(self, epsilon))
    found = epsilon_of(events, delta)
    assert len(looks) < 60
    assert delta_of(events, found) <= delta


def outcomes(epsilon0s, noise):
    """Losses and probabilities of randomized responses and at most one noisy sum, every outcome."""
    losses, masses = np.zeros(1), np.ones(1)
    parts = [([a, -a], [1 / (1 + math.exp(-a)), 1 / (1 + math.exp(a))]) for a in epsilon0s]
    if noise is not None:
        p = sum_of_discrete_gaussians(noise.n, noise.scale)
        q = np.roll(p, noise.value_range)
        counted = (p > 1e-25) & (q > 1e-25)
        parts.append((np.log(p[counted] / q[counted]), p[counted]))
    for own_losses, own_masses in parts:
        losses = np.add.outer(losses, own_losses).ravel()
        masses = np.multiply.outer(masses, own_masses).ravel()
    return losses, masses


@pytest.mark.parametrize(("seed", "mixtures"), [(31, 3), pytest.param(33, 25, marks=pytest.mark.long)])
def test_epsilon_of_random_mixtures_is_that_of_all_outcomes(seed, mixtures):
    source = random.Random(seed)
    for _ in range(mixtures):
        epsilon0s = [math.exp(source.uniform(-4.5, 1)) for _ in range(source.randrange(2, 8))]
        noise = None
        if source.random() < 0.4:
            noise = DiscreteGaussianSum(
                n=source.randrange(2, 40), scale=source.uniform(0.5, 1.5), value_range=source.randrange(1, 4)
            )
        delta = 10 ** source.uniform(-7, -1)
        losses, masses = outcomes(epsilon0s, noise)
        low, high = 0.0, float(losses.max())
        for _ in range(60):
            middle = (low + high) / 2
            above = float(masses @ np.maximum(0.0, -np.expm1(np.minimum(0.0, middle - losses)))) > delta
            low, high = (middle, high) if above else (low, middle)
        events = [EpsilonDelta(epsilon_given=a) for a in epsilon0s] + ([noise] if noise else [])
        found = epsilon_of(events, delta)
        assert high * (1 - 1e-9) <= found + 1e-12 <= high * 1.002 + 1e-9, (epsilon0s, noise, delta)
        assert found <= sum(event.epsilon(delta / len(events)) for event in events) * (1 + 1e-12)


def test_two_releases_with_exchanged_inputs_lose_more_than_each_direction():
    """No other device has the event, and this one in the first release, or else in the second."""
    event = RandomizedResponseSum(n=5, epsilon0=2.0, sampling_rate=0.1)
    others = [0] * (event.n - 1)
    one, zero = (
        released([sampled(randomized([bit], event.epsilon0), event.sampling_rate) for bit in (own, *others)])
        for own in (1, 0)
    )

    def twice(first, second):
        return {(a, b): p * q for a, p in first.items() for b, q in second.items()}

    epsilon = 3.0
    apart = hockey_stick(twice(one, one), twice(zero, zero), epsilon)
    exchanged = hockey_stick(twice(one, zero), twice(zero, one), epsilon)
    assert exchanged > 4 * apart
    assert delta_of([event, event], epsilon) >= exchanged


def test_composition_of_what_tells_all_promises_nothing():
    events = [DiscreteGaussianSum(n=4, scale=11.1, value_range=1000)] * 2
    assert delta_of(events, 1.0) == 1.0
    with pytest.raises(FieldError, match="no ε is promised"):
        epsilon_of(events, 1e-6)


@pytest.mark.parametrize("events", [
    [Gaussian(sigma=0.35)] * 2,
    [Gaussian(sigma=5.0, rounds=1000), Gaussian(sigma=5.0)],
    [Gaussian(sigma=sigma) for sigma in (3.0, 10.0, 10.0, 200.0)],
])  # fmt: skip
def test_composed_gaussians_with_large_losses_are_one_gaussian(events):
    variance = 1 / sum(event.rounds / event.sigma**2 for event in events)
    exact = Gaussian(sigma=math.sqrt(variance)).epsilon(1e-6)
    assert exact <= epsilon_of(events, 1e-6) <= exact * (1 + 2e-3)


@pytest.mark.parametrize(("sigma", "rate", "rounds", "delta"), [
    (1000, 1e-3, 10, 1e-6), (10, 0.01, 100, 0.003998), (100, 1e-3, 1000, 1.25e-4), (12.8, 1e-6, 1000, 1e-25),
])  # fmt: skip
def test_epsilon_far_below_the_spread_of_losses_is_found(sigma, rate, rounds, delta):
    event = Gaussian(sigma=sigma, sampling_rate=rate, rounds=rounds)
    found = event.epsilon(delta)
    assert event.delta(found) <= delta < event.delta(0.0)


@pytest.mark.parametrize("n", [2, 100])
@pytest.mark.parametrize("epsilon0", [0.01, 6.0, 8.0, 20.0])
def test_two_bits_compose_between_one_and_basic_composition(n, epsilon0):
    """Losses of a few atoms, far apart, at a δ that hardly any of them has."""
    event = RandomizedResponseSum(n=n, epsilon0=epsilon0)
    found = epsilon_of([event, event], 1e-6)
    assert event.epsilon(1e-6) <= found <= 2 * epsilon0 * (1 + 1e-9)

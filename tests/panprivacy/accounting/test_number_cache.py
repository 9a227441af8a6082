"""A number that a cache has is not computed again, and is the one that would be computed.

Caches keep numbers under `VERSION`, and must not outlive a change of the numbers.
"""

from typing import Any

import numpy as np
import pytest

from panprivacy.accounting import number_cache
from panprivacy.accounting.composition import _composed, _roughly_composed, epsilon_of
from panprivacy.accounting.interface import PrivacyEvent
from panprivacy.accounting.number_cache import VERSION, cache_read_only, epsilon_at, symmetric_loss_of
from panprivacy.accounting.privacy_loss import PrivacyLoss, symmetric_loss
from panprivacy.accounting.randomized_response_sum import RandomizedResponseSum
from panprivacy.accounting.registry import EVENTS, event_from_mapping
from panprivacy.accounting.sampling import Sampling
from panprivacy.statistics.events import MECHANISMS

QUICK = RandomizedResponseSum(n=50, epsilon0=1.0)


class Memory:
    def __init__(self) -> None:
        self.losses: dict[tuple[PrivacyEvent, float], PrivacyLoss] = {}
        self.epsilons: dict[tuple[PrivacyEvent, float], float] = {}

    def forget(self) -> None:
        self.losses.clear()
        self.epsilons.clear()

    def loss_get(self, event: PrivacyEvent, dots_apart: float) -> PrivacyLoss | None:
        return self.losses.get((event, dots_apart))

    def loss_set(self, event: PrivacyEvent, dots_apart: float, loss: PrivacyLoss) -> None:
        self.losses[event, dots_apart] = loss

    def epsilon_get(self, event: PrivacyEvent, delta: float) -> float | None:
        return self.epsilons.get((event, delta))

    def epsilon_set(self, event: PrivacyEvent, delta: float, epsilon: float) -> None:
        self.epsilons[event, delta] = epsilon


@pytest.fixture
def memory(monkeypatch: pytest.MonkeyPatch) -> Memory:
    memory = Memory()
    monkeypatch.setattr(number_cache, "_cache", memory)
    another_process()
    return memory


def another_process() -> None:
    for kept in (symmetric_loss_of, epsilon_at, _composed, _roughly_composed):
        kept.cache_clear()


def refused(*_: Any) -> Any:
    """As a worker whose time is over."""
    raise TimeoutError


def sampled(n: int) -> Sampling:
    return Sampling(event=QUICK, n=n, sampling_rate=0.2)


@pytest.mark.parametrize("event", [sampled(20), QUICK])
def test_loss_is_remembered_as_it_is_and_not_computed_again(memory, event, monkeypatch):
    first, directly = symmetric_loss_of(event), symmetric_loss(event.delta_bound, event.dots_apart)
    assert memory.losses[event, 0.0] is first
    assert np.array_equal(first.losses, directly.losses)
    assert np.array_equal(first.masses, directly.masses)
    assert first.infinite == directly.infinite
    another_process()
    monkeypatch.setattr(number_cache, "symmetric_loss", refused)
    assert symmetric_loss_of(event) is first


@pytest.mark.parametrize("event", [sampled(20), QUICK])
def test_epsilon_is_remembered_with_all_its_digits_and_not_computed_again(memory, event, monkeypatch):
    first = epsilon_at(event, 1e-6)
    assert memory.epsilons == {(event, 1e-6): event.epsilon(1e-6)}
    another_process()
    monkeypatch.setattr(type(event), "epsilon", refused)
    assert epsilon_at(event, 1e-6) == first
    with pytest.raises(TimeoutError):
        epsilon_at(event, 1e-7)


def test_numbers_whose_computation_was_ended_are_not_remembered(memory, monkeypatch):
    for number in ("delta_bound", "epsilon"):
        monkeypatch.setattr(Sampling, number, refused)
    for compute in (symmetric_loss_of, lambda event: epsilon_at(event, 1e-6)):
        with pytest.raises(TimeoutError):
            compute(sampled(21))
    assert not memory.losses
    assert not memory.epsilons


def test_who_may_ask_for_any_number_finds_what_is_kept_and_keeps_nothing(memory):
    known, unknown = sampled(26), sampled(27)
    epsilon = epsilon_at(known, 1e-6)
    memory.epsilons[known, 1e-6] = 2 * epsilon
    another_process()
    with cache_read_only():
        assert epsilon_at(known, 1e-6) == 2 * epsilon
        epsilon_at(unknown, 1e-6)
        symmetric_loss_of(unknown)
    assert list(memory.epsilons) == [(known, 1e-6)]
    assert not memory.losses


CLOSED_FORM, BY_FFT = 1e-9, 1e-7
"""Relative differences that machines may have, and no change of the numbers."""

DELTA = 1e-6

ONE_BIT = {"kind": "randomized_response", "n": 1000, "epsilon0": 1.0, "sampling_rate": 1.0}
ONE_HOT = {"kind": "one_hot", "n": 1000, "k": 10, "epsilon0": 1.0, "relation": "replace"}
NOISE = {"kind": "discrete_gaussian_sum", "n": 1000, "scale": 1.5, "value_range": 5}
SHUFFLED = {"kind": "shuffled", "n": 1000, "epsilon0": 1.0}
VECTOR = {"kind": "discrete_gaussian_vector", "n": 1000, "scale": 2.5, "sensitivity": 20.0, "dimension": 64}
IMPORTANCE = {"kind": "importance_sampled", "event": SHUFFLED, "n": 10_000, "lowest_rate": 0.1}
REDRAWN = {"kind": "redrawn", "event": ONE_BIT, "n": 1000, "probability": 1e-12, "largest_epsilon": 1.0}
GIVEN = {"kind": "given", "epsilon_given": 0.5, "delta_given": 1e-7, "relation": "replace"}
SAMPLED_BIT = {"kind": "sampled", "event": {**ONE_BIT, "n": 50}, "n": 50, "sampling_rate": 0.2}
GAUSSIAN = {"kind": "gaussian", "sigma": 2.0, "sampling_rate": 1.0, "rounds": 1}

GOLDEN_VERSION = 6

DELTAS: list[tuple[dict[str, Any], float, float]] = [
    (ONE_BIT, 0.1, 1.709740124072228e-05),
    ({**ONE_BIT, "sampling_rate": 0.3}, 0.05, 1.5892361653111565e-05),
    (ONE_HOT, 0.15, 1.1912777192187477e-05),
    ({**ONE_HOT, "kind": "vector_coin"}, 0.05, 0.00010716451457576127),
    (NOISE, 0.3, 7.970458822542839e-05),
    (VECTOR, 1.0, 3.651082979964862e-06),
    (GAUSSIAN, 2.0, 9.43916863494743e-06),
    ({**GAUSSIAN, "sampling_rate": 0.1, "rounds": 10}, 0.8, 9.793752269196969e-06),
    (SHUFFLED, 0.1, 8.201166250145803e-05),
    ({**SHUFFLED, "kind": "shuffled_2021"}, 0.15, 1.3550917343626599e-05),
    ({"kind": "sampled", "event": ONE_BIT, "n": 10_000, "sampling_rate": 0.1}, 0.01, 1.3749925164383143e-06),
    ({"kind": "repeated", "event": SHUFFLED, "times": 2}, 0.2, 3.0376561817661497e-06),
    (GIVEN, 0.4, 0.05923493120129462),
    ({"kind": "thinned_response", "n": 1000, "epsilon0": 1.0, "rate": 0.1}, 0.01, 1.8371099061054703e-06),
    ({**IMPORTANCE, "highest_rate": 0.3}, 0.1, 1.5702938689795028e-13),
    ({"kind": "failing", "event": ONE_BIT, "probability": 1e-7}, 0.1, 1.719740124072228e-05),
    (REDRAWN, 0.1, 1.7098686559374486e-05),
]
"""Event, ε, its δ."""

EPSILONS: list[tuple[list[dict[str, Any]], float]] = [
    ([ONE_BIT], 0.12661448099253664),
    ([ONE_BIT, ONE_HOT, NOISE, NOISE], 0.6559731763377865),
    ([{"kind": "repeated", "event": SAMPLED_BIT, "times": 5}], 0.620881269259954),
]
"""Events, and the ε of all together at `DELTA`."""

ADVICE = (
    "a number has changed: raise VERSION in panprivacy/accounting/number_cache.py, write GOLDEN_VERSION and "
    "the numbers of this file anew, and say in CHANGELOG.md what changed. It was {old!r} and is {new!r}"
)


def same(new: float, old: float, tolerance: float) -> None:
    assert new == pytest.approx(old, rel=tolerance), ADVICE.format(old=old, new=new)


def test_every_kind_of_event_has_a_number_of_this_version_below():
    assert VERSION == GOLDEN_VERSION, "write the numbers of this file anew, as VERSION was raised"
    assert {members["kind"] for members, *_ in DELTAS} == set(EVENTS)


@pytest.mark.parametrize(("members", "epsilon", "delta"), DELTAS, ids=lambda value: str(value)[:40])
def test_delta_of_an_event_is_as_this_version_computes_it(members, epsilon, delta):
    event = event_from_mapping(members)
    by_fft = members["kind"] in {"repeated", "sampled"} or members.get("rounds", 1) > 1
    same(event.delta(epsilon), delta, BY_FFT if by_fft else CLOSED_FORM)


def test_remembered_loss_of_a_curve_is_as_this_version_computes_it():
    loss = symmetric_loss_of(event_from_mapping(SAMPLED_BIT))
    same(loss.largest, 0.90625, BY_FFT)
    same(loss.variance, 0.004474316838093506, BY_FFT)
    same(loss.epsilon(DELTA), 0.26776582215097733, BY_FFT)


@pytest.mark.parametrize(("events", "epsilon"), EPSILONS, ids=["one", "composition", "sampled"])
def test_epsilon_is_as_this_version_computes_it(events, epsilon):
    same(epsilon_of([event_from_mapping(members) for members in events], DELTA), epsilon, BY_FFT)


@pytest.mark.parametrize(("guarantee", "scale"), [("local", 21.124089), ("aggregator", 0.669582)])
def test_noise_scale_of_a_mean_is_as_this_version_calibrates_it(guarantee, scale):
    members = {"steps": 7, "k": 5, "epsilon": 1.0, "delta": DELTA, "cohort_size": 1000}
    asked = MECHANISMS["mean"].parameters_class.from_mapping({**members, "guarantee": guarantee})
    same(asked.calibrated().as_dict()["noise_scale"], scale, BY_FFT)

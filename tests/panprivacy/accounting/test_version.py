"""Numbers as this version computes them: caches keep them under `VERSION`, and must not outlive a change."""

from typing import Any

import pytest

from panprivacy.accounting.composition import epsilon_of
from panprivacy.accounting.loss_cache import symmetric_loss_of
from panprivacy.accounting.registry import EVENTS, event_from_mapping
from panprivacy.accounting.version import VERSION
from panprivacy.statistics.events import MECHANISMS

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
    "a number has changed: raise VERSION in panprivacy/accounting/version.py, write GOLDEN_VERSION and "
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

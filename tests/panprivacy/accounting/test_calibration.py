"""Solving for a parameter: the target is met, and nothing better meets it."""

import dataclasses
import math

import pytest

from panprivacy.accounting.calibration import SOLVABLE, Optimum, calibrated, solvable_fields
from panprivacy.accounting.discrete_gaussian_sum import DiscreteGaussianSum
from panprivacy.accounting.gaussian import Gaussian
from panprivacy.accounting.interface import LARGEST_N
from panprivacy.accounting.one_hot_sum import OneHotSum
from panprivacy.accounting.randomized_response_sum import RandomizedResponseSum
from panprivacy.accounting.registry import EVENTS
from panprivacy.accounting.shuffling import ShuffledRandomizedResponse
from panprivacy.formats.errors import FieldError
from tests.refusals import field_refused

CASES = [
    (RandomizedResponseSum, {"n": 10_000}, "epsilon0", 1.0, 1e-6),
    (RandomizedResponseSum, {"n": 40, "sampling_rate": 0.2}, "epsilon0", 0.5, 1e-4),
    (RandomizedResponseSum, {"epsilon0": 2.0}, "n", 0.05, 1e-8),
    (OneHotSum, {"n": 500, "k": 3}, "epsilon0", 0.5, 1e-6),
    (ShuffledRandomizedResponse, {"n": 1_000}, "epsilon0", 0.5, 1e-6),
    (ShuffledRandomizedResponse, {"epsilon0": 3.0}, "n", 0.5, 1e-6),
    (Gaussian, {}, "sigma", 1.0, 1e-8),
    (Gaussian, {"sampling_rate": 0.01, "rounds": 1_000}, "sigma", 1.0, 1e-6),
    (DiscreteGaussianSum, {"n": 10_000, "value_range": 10}, "scale", 1.0, 1e-6),
    (DiscreteGaussianSum, {"scale": 0.5, "value_range": 10}, "n", 1.0, 1e-6),
]


@pytest.mark.parametrize(("event_class", "members", "name", "epsilon", "delta"), CASES)
def test_calibrated_meets_its_target_and_nothing_better_does(event_class, members, name, epsilon, delta):
    event = calibrated(event_class, members=members, solve_for=name, epsilon=epsilon, delta=delta)
    assert event.delta(epsilon) <= delta
    value = getattr(event, name)
    if isinstance(value, int):
        better = value - 1
    else:
        better = value * (1 + (1e-6 if SOLVABLE[name] is Optimum.LARGEST else -1e-6))
    assert dataclasses.replace(event, **{name: better}).delta(epsilon) > delta


@pytest.mark.parametrize(("event_class", "members", "name", "epsilon", "limit"), [
    (DiscreteGaussianSum, {"scale": 0.5, "value_range": 10}, "n", 1e-8, "1e12"),
    (RandomizedResponseSum, {"n": 1}, "epsilon0", 1e-12, "1e-6"),
    (Gaussian, {}, "sigma", 1e-10, "1e9"),
])  # fmt: skip
def test_calibrated_where_no_value_suffices_says_what_is_reachable(
    event_class, members, name, epsilon, limit
):
    with pytest.raises(FieldError, match="gives ε = ") as caught:
        calibrated(event_class, members=members, solve_for=name, epsilon=epsilon, delta=1e-12)
    assert caught.value.field == name
    assert limit in caught.value.message


def test_calibrated_never_looks_beyond_the_largest_value_it_is_given():
    with field_refused("n", match="1000"):
        calibrated(
            ShuffledRandomizedResponse,
            members={"epsilon0": 3.0},
            solve_for="n",
            epsilon=0.01,
            delta=1e-6,
            largest=1_000,
        )


def test_calibrated_if_every_value_suffices_returns_the_end_of_the_range():
    event = calibrated(RandomizedResponseSum, members={"n": 1}, solve_for="epsilon0", epsilon=60, delta=1e-6)
    assert event.epsilon0 == 50.0
    assert calibrated(Gaussian, members={}, solve_for="sigma", epsilon=500, delta=1e-6).sigma == 0.1


@pytest.mark.parametrize(("changed", "field"), [
    ({"solve_for": "sampling_rate"}, "sampling_rate"),
    ({"members": {"sampling_rate": 2}}, "sampling_rate"),
    ({"members": {"colour": 2}}, "colour"),
    ({"epsilon": 0.0}, "epsilon"),
    ({"epsilon": -1.0}, "epsilon"),
    ({"epsilon": math.inf}, "epsilon"),
    ({"delta": 0.0}, "delta"),
])  # fmt: skip
def test_calibrated_on_bad_input_names_the_field(changed, field):
    asked = {"members": {}, "solve_for": "sigma", "epsilon": 1.0, "delta": 1e-6, **changed}
    with field_refused(field):
        calibrated(Gaussian, **asked)


def test_every_solvable_parameter_is_bounded():
    """So that a search ends; `calibrated` relies on it."""
    for event_class in EVENTS.values():
        for name in solvable_fields(event_class):
            description = event_class.__dataclass_fields__[name].metadata["description"]
            assert 0 < description.minimum < description.maximum <= LARGEST_N

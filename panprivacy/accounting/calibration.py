"""Solving for a parameter of an event: the one with which it just meets a target (ε, δ)."""

import math
from collections.abc import Callable, Mapping
from dataclasses import fields
from enum import Enum

# Its parts are loaded when they are first used (see discrete_gaussian_sum.py).
import scipy

from panprivacy.accounting.discrete_gaussian_sum import SMALLEST_EPSILON, DiscreteGaussianSum, smallest_scale
from panprivacy.accounting.interface import PrivacyEvent, require_delta, require_epsilon
from panprivacy.formats.display import plain
from panprivacy.formats.errors import FieldError
from panprivacy.formats.parameters import description_of, kind_of


class Optimum(Enum):
    """Which of the values that meet a target is the best one."""

    LARGEST = "largest"
    SMALLEST = "smallest"


SOLVABLE: Mapping[str, Optimum] = {
    "epsilon0": Optimum.LARGEST,
    "scale": Optimum.SMALLEST,
    "sigma": Optimum.SMALLEST,
    "n": Optimum.SMALLEST,
}
"""Parameters that can be solved for if an event has a field of that name."""

_TIGHT = 2e-7  # relative, in the parameter
_NOTHING = 1e-300


def solvable_fields(event_class: type[PrivacyEvent]) -> tuple[str, ...]:
    """Names of the parameters of an event that can be solved for."""
    return tuple(field.name for field in fields(event_class) if field.name in SOLVABLE)


def calibrated(
    event_class: type[PrivacyEvent],
    *,
    members: Mapping[str, object],
    solve_for: str,
    epsilon: float,
    delta: float,
    largest: float | None = None,
) -> PrivacyEvent:
    """The event with the best value of one parameter at which it is (ε, δ)-private.

    Args:
        members: the values of the other parameters.
        solve_for: one of `solvable_fields(event_class)`.
        epsilon: target, above 0.
        delta: target, from `SMALLEST_DELTA`, below 1.
        largest: search no further than this value, if the field's own bound is higher.

    Returns:
        The event, which meets the target: its δ at ε, as computed, is at most `delta`. A real parameter is
        within 1e-6 (relative) of one that fails, or at the end of its allowed range. A whole number n meets
        the target while n − 1 fails. Every larger n meets it too, because a further report only adds noise.
        (The rounding of computed numbers can break that in the last place.) For the scale of discrete
        Gaussians see `smallest_scale`.

    Raises:
        FieldError: no allowed value meets the target, with what is reachable; or a value is out of range.
    """
    require_delta(delta)
    require_epsilon(epsilon)
    if epsilon == 0:
        raise FieldError("epsilon", "must be above 0 to be solved for")
    found = {field.name: field for field in fields(event_class)}
    if solve_for not in solvable_fields(event_class):
        raise FieldError(solve_for, f"cannot be solved for in {event_class.kind}")
    description, is_whole = description_of(found[solve_for]), kind_of(found[solve_for]) is int
    if description.minimum is None or description.maximum is None:
        raise TypeError(f"{solve_for} has no bounds")
    low, high = description.minimum, min(description.maximum, largest or math.inf)

    def event_at(value: float) -> PrivacyEvent:
        return event_class.from_members({**members, solve_for: int(value) if is_whole else value})

    def excess(value: float) -> float:
        """ln(δ(ε)/δ): at most 0 if the target is met."""
        return math.log(max(event_at(value).delta(epsilon), _NOTHING)) - math.log(delta)

    event_at(low)  # refuses invalid other parameters without any search
    if event_class is DiscreteGaussianSum and solve_for == "scale":
        return event_at(_scale(members, low, high, epsilon, delta))
    optimum = SOLVABLE[solve_for]
    end = low if optimum is Optimum.LARGEST else high
    meets, fails = _bracket(excess, optimum, low, high, is_whole)
    if meets is None:
        reachable = event_at(end).epsilon(delta)
        raise FieldError(
            solve_for,
            f"must lie in {plain(low)} to {plain(high)}; there no value gives ε = {plain(epsilon)} at "
            f"δ = {plain(delta)}: {solve_for} = {plain(end)} gives ε = {reachable:.6g}",
        )
    if fails is None:
        return event_at(meets)
    return event_at((_whole if is_whole else _real)(excess, meets, fails))


def _scale(members: Mapping[str, object], low: float, high: float, epsilon: float, delta: float) -> float:
    if epsilon < SMALLEST_EPSILON:
        refused = f"must be at least {plain(SMALLEST_EPSILON)} for a scale, not {plain(epsilon)}"
        raise FieldError("epsilon", refused)
    event = DiscreteGaussianSum.from_members({**members, "scale": high})
    if event.delta(epsilon) > delta:
        reachable = event.epsilon(delta)
        raise FieldError("scale", f"must be at most {plain(high)}, which gives ε = {reachable:.6g} at this δ")
    return max(low, smallest_scale(event.n, event.value_range, epsilon, delta))


def _bracket(
    excess: Callable[[float], float], optimum: Optimum, low: float, high: float, is_whole: bool
) -> tuple[float | None, float | None]:
    """A value that meets the target and one that fails, by steps of a constant factor; None if none is."""
    # The search for whole numbers goes upwards: large ones cost time, and are computed only if needed.
    value = low if is_whole else min(max(1.0, low), high)
    factor = 4.0
    towards_safe = factor if optimum is Optimum.SMALLEST else 1 / factor
    safe, unsafe = (high, low) if optimum is Optimum.SMALLEST else (low, high)
    if excess(value) <= 0:
        meets = value
        while meets != unsafe:
            value = min(max(meets / towards_safe, low), high)
            if excess(value) > 0:
                return meets, value
            meets = value
        return meets, None
    fails = value
    while fails != safe:
        value = min(max(fails * towards_safe, low), high)
        if excess(value) <= 0:
            return value, fails
        fails = value
    return None, fails


def _real(excess: Callable[[float], float], meets: float, fails: float) -> float:
    ends = sorted((math.log(meets), math.log(fails)))
    root = scipy.optimize.brentq(
        lambda log_value: excess(math.exp(log_value)), *ends, xtol=_TIGHT, rtol=1e-12
    )
    value = math.exp(float(root))
    towards_safe = math.copysign(_TIGHT, meets - fails)
    while excess(value) > 0:
        value *= 1 + towards_safe
        towards_safe *= 2
    return value


def _whole(excess: Callable[[float], float], meets: float, fails: float) -> float:
    while meets - fails > 1:
        middle = float(math.floor((meets + fails) / 2))
        if meets > 2 * fails:
            middle = float(math.floor(math.sqrt(meets * fails)))
        if excess(middle) <= 0:
            meets = middle
        else:
            fails = middle
    return meets

"""Which parameters would meet an aggregator target that the given ones do not."""

import math
from dataclasses import fields, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Any

from panprivacy.errors import FieldError
from panprivacy.mechanisms.interface import Mechanism
from panprivacy.parameters import description_of

PRECISION = 1.002
"""Suggested values lie within this factor of the last that does not meet the target, before rounding."""

DIGITS = 3
"""Significant digits of a suggested value, which is rounded to the safe side."""


def remedies(mechanism: Mechanism[Any]) -> str:
    """A clause that names the largest ε, and the smallest cohort size, that alone would meet the target."""
    found = []
    epsilon = meeting_value(mechanism, "epsilon", larger=False)
    if epsilon is not None:
        found.append(f"ε = {epsilon:g}")
    cohort_size = meeting_value(mechanism, "cohort_size", larger=True)
    if cohort_size is not None:
        found.append(f"a cohort size of {cohort_size:,}")
    if not found:
        return "neither another ε nor another cohort size alone would meet it"
    return f"{' or '.join(found)} would meet it"


def meeting_value(mechanism: Mechanism[Any], name: str, *, larger: bool) -> float | None:
    """The value of the parameter `name` closest to the present one that meets the target.

    Found by bisection, as the guarantee is monotone in it, and checked.

    Args:
        mechanism: one whose `require_promise` refuses it.
        larger: whether larger values protect more.

    Returns:
        A value with `DIGITS` significant digits; None if none in the allowed range was found.
    """
    (field,) = (field for field in fields(mechanism.parameters) if field.name == name)
    description = description_of(field)
    failing = meeting = float(getattr(mechanism.parameters, name))
    # Outwards first: far out other bounds may be hit, as noise that cannot be decrypted.
    while not _meets(mechanism, name, meeting):
        failing, meeting = meeting, meeting * 2 if larger else meeting / 2
        if not (description.minimum or 0) <= meeting <= (description.maximum or math.inf):
            return None
    while max(meeting, failing) > PRECISION * min(meeting, failing):
        middle = math.sqrt(meeting * failing)
        if field.type is int:
            middle = float(round(middle))
            if middle in (meeting, failing):
                break  # neighbours
        if _meets(mechanism, name, middle):
            meeting = middle
        else:
            failing = middle
    rounded = _rounded(meeting, ROUND_CEILING if larger else ROUND_FLOOR)
    chosen = rounded if _meets(mechanism, name, rounded) else meeting
    return int(chosen) if field.type is int else chosen


def _meets(mechanism: Mechanism[Any], name: str, value: float) -> bool:
    try:
        parameters = replace(mechanism.parameters, **{name: value}).calibrated()
        type(mechanism)(parameters).require_promise()
    except FieldError:  # also where the value is outside its range, or calls for too much noise
        return False
    return True


def _rounded(value: float, direction: str) -> float:
    exact = Decimal(value)
    return float(exact.quantize(Decimal(1).scaleb(exact.adjusted() - DIGITS + 1), rounding=direction))

"""Which value of one parameter would keep what the present one does not."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Any

from panprivacy.accounting.interruption import interruption_point
from panprivacy.errors import FieldError
from panprivacy.parameters import description_of
from panprivacy.shown import plain
from panprivacy.statistic import Statistic

PRECISION = 1.005
"""Suggested values lie within this factor of the last that is not enough, before rounding."""

DIGITS = 3
"""Significant digits of a suggested value, which is rounded to the safe side."""


NOTHING_WOULD_DO = "no other ε, cohort size or δ alone would do"

LARGER = {"epsilon": False, "cohort_size": True, "delta": False}
"""Parameters that are looked at, and whether larger values protect more."""

_SYMBOLS = {"epsilon": "ε", "delta": "δ"}


@dataclass(frozen=True)
class Remedy:
    """A value of one parameter with which alone it would be enough.

    Attributes:
        name: of the parameter: one of `LARGER`.
        value: the nearest to the present one, rounded to the safe side.
    """

    name: str
    value: float


def remedies(statistic: Statistic[Any]) -> str:
    """A clause that names the largest ε, and the smallest cohort size, that alone would keep the promise."""
    return remedy_clause(statistic, keeps_promise)


def keeps_promise(statistic: Statistic[Any]) -> bool:
    """Whether `require_promise` accepts it."""
    try:
        # Asked first: the refusal says how far it is off, which takes many times as long.
        if not statistic.keeps_target:
            return False
        statistic.require_promise()
    except FieldError:
        return False
    return True


def remedy_clause(statistic: Statistic[Any], enough: Callable[[Statistic[Any]], bool]) -> str:
    """A clause that names the largest ε, and the smallest cohort size, with which alone it is enough.

    Where neither is, the largest δ: a release that may fail altogether gains by nothing else.
    """
    found = remedies_of(statistic, enough, ("epsilon", "cohort_size"))
    found = found or remedies_of(statistic, enough, ("delta",))
    return f"{' or '.join(map(_in_words, found))} would do" if found else NOTHING_WOULD_DO


def remedies_of(
    statistic: Statistic[Any], enough: Callable[[Statistic[Any]], bool], names: Iterable[str]
) -> tuple[Remedy, ...]:
    """The nearest value of each of these parameters with which alone it is enough, where there is one."""
    nearest = {name: nearest_value(statistic, name, enough, larger=LARGER[name]) for name in names}
    return tuple(Remedy(name, value) for name, value in nearest.items() if value is not None)


def _in_words(remedy: Remedy) -> str:
    if remedy.name == "cohort_size":
        return f"a cohort size of {remedy.value:,}"
    return f"{_SYMBOLS[remedy.name]} = {plain(remedy.value)}"


def nearest_value(
    statistic: Statistic[Any], name: str, enough: Callable[[Statistic[Any]], bool], *, larger: bool
) -> float | None:
    """The value of the parameter `name` closest to the present one with which it is enough.

    Found by bisection, and checked.

    Args:
        statistic: one that is not enough.
        enough: whether a statistic is; a value further away must be where a nearer one is.
        larger: whether to look among larger values.

    Returns:
        A value with `DIGITS` significant digits; None if none in the allowed range was found, or there is no
        such parameter.
    """
    field = next((field for field in fields(statistic.parameters) if field.name == name), None)
    if field is None:
        return None
    description = description_of(field)

    def holds(value: float) -> bool:
        interruption_point()
        try:
            return enough(with_value(statistic, name, value))
        except FieldError:  # outside its range, or more noise than can be decrypted
            return False

    failing = meeting = float(getattr(statistic.parameters, name))
    # Outwards first: far out other bounds may be hit, as noise that cannot be decrypted.
    while failing == meeting or not holds(meeting):
        failing, meeting = meeting, meeting * 2 if larger else meeting / 2
        if not (description.minimum or 0) <= meeting <= (description.maximum or math.inf):
            return None
    while max(meeting, failing) > PRECISION * min(meeting, failing):
        middle = math.sqrt(meeting * failing)
        if field.type is int:
            middle = float(round(middle))
            if middle in (meeting, failing):
                break  # neighbours
        if holds(middle):
            meeting = middle
        else:
            failing = middle
    rounded = _rounded(meeting, ROUND_CEILING if larger else ROUND_FLOOR)
    chosen = rounded if holds(rounded) else meeting
    return int(chosen) if field.type is int else chosen


def with_value(statistic: Statistic[Any], name: str, value: float) -> Statistic[Any]:
    """The same statistic with another value of one parameter. FieldError where it cannot have that."""
    derived = dict.fromkeys(statistic.parameters.derived_names())
    parameters = replace(statistic.parameters, **derived, **{name: value}).calibrated()
    return statistic.having(parameters)


def _rounded(value: float, direction: str) -> float:
    exact = Decimal(value)
    return float(exact.quantize(Decimal(1).scaleb(exact.adjusted() - DIGITS + 1), rounding=direction))

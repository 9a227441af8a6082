"""Small parameters of any registered statistic, made from what it declares: tests of all keep no list."""

import dataclasses
import itertools
import math
from typing import Any

from panprivacy.formats.parameters import description_of
from panprivacy.statistics.interface import Statistic

SMALL = 3
"""Where nothing else is given, or the nearest that is allowed."""


def small_members(statistic: type[Statistic[Any]], **given: Any) -> dict[str, Any]:
    """Members of a recipe file for every parameter that has no default, and for those given that it has."""
    return every_choice(statistic, **given)[0]


def without_implied(statistic: type[Statistic[Any]], members: dict[str, Any]) -> dict[str, Any]:
    """Without what follows from other members."""
    implied = {
        field.name
        for field in dataclasses.fields(statistic.parameters_class)
        if description_of(field).implied
    }
    return {name: value for name, value in members.items() if name not in implied}


def every_choice(statistic: type[Statistic[Any]], **given: Any) -> list[dict[str, Any]]:
    """The same with every combination of the choices that have no default."""
    values: dict[str, list[Any]] = {}
    for field in dataclasses.fields(statistic.parameters_class):
        description = description_of(field)
        if description.implied:
            continue
        if field.name in given:
            values[field.name] = [given[field.name]]
        elif field.default is dataclasses.MISSING and not description.derived:
            if description.structure is not None:
                values[field.name] = [description.structure.example]
                continue
            low, high = description.minimum or 0, description.maximum or math.inf
            values[field.name] = list(description.choices) or [min(max(SMALL, low), high)]
    return [dict(zip(values, chosen, strict=True)) for chosen in itertools.product(*values.values())]

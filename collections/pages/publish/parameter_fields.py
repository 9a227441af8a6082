"""A field for each parameter of a statistic, and the initial values of a new recipe."""

import dataclasses
from typing import Any

from django import forms

from pages.kinds import kind_of
from pages.publish.fields import StructureField, number_field
from panprivacy.encryption import DEFAULT_SCHEME
from panprivacy.formats.parameters import description_of
from panprivacy.formats.parameters import kind_of as number_kind
from panprivacy.recipe.draft import DEFAULT_POPULATION
from panprivacy.statistics.interface import Statistic

SUGGESTED: dict[str, Any] = {
    "population": DEFAULT_POPULATION,
    "steps": 7,
    "step_seconds": 86_400,
    "epsilon": 1,
    "delta": "1e-6",
    "population_size": 10_000,
    "encryption": DEFAULT_SCHEME,
}
"""Initial values of a new recipe with any statistic; a statistic's own parameters start at their default."""


def parameter_fields(mechanism: type[Statistic[Any]]) -> dict[str, forms.Field]:
    """A field for every parameter of a statistic that is not derived, with the value to start from."""
    entered = mechanism.parameters_class.entered_names()
    fields = {
        field.name: _field_of(field)
        for field in dataclasses.fields(mechanism.parameters_class)
        if field.name in entered
    }
    suggested = {**SUGGESTED, **kind_of(mechanism).suggested}
    for name in suggested.keys() & fields.keys():
        # Optional parameters without a default start empty.
        if fields[name].required or fields[name].initial is not None:
            # An empty box would mean the default, which is not what stood in it.
            fields[name].required |= fields[name].initial not in (None, suggested[name])
            fields[name].initial = suggested[name]
    return fields


def _field_of(field: dataclasses.Field[Any]) -> forms.Field:
    description = description_of(field)
    has_default = field.default is not dataclasses.MISSING
    required = not has_default
    if description.structure is not None:
        return StructureField(description, description.structure, required=required)
    if description.choices:
        unset = [] if required or field.default is not None else [("", "chosen for you")]
        choices = [
            *unset,
            *((choice, choice.replace("_", " ").replace("-", " ")) for choice in description.choices),
        ]
        choice_field = forms.ChoiceField(
            label=description.label, help_text=description.help, choices=choices, required=required
        )
        choice_field.initial = field.default if has_default else description.choices[0]
        return choice_field
    kind = number_kind(field)
    box = number_field(description, kind, required=required)
    default: Any = field.default
    if has_default:
        box.initial = default
    elif description.suggested is not None:
        box.initial = description.suggested
    elif kind is int:
        box.initial = max(int(description.minimum or 0), min(10, int(description.maximum or 10)))
    return box

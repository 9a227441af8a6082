"""Fields of forms for the optional parts of a recipe, from the parts' own descriptions."""

from collections.abc import Callable, Mapping
from typing import Any

from django import forms

from pages.publish.fields import HiddenCountField, LabelsField, number_field
from pages.publish.target_field import target_field
from panprivacy.formats.parameters import Description
from panprivacy.recipe.parts import PARTS
from panprivacy.recipe.parts.interface import PartField, Subject
from panprivacy.statistics.interface import Statistic
from panprivacy.statistics.trust_models import TRUST_MODELS, trusts_of

OBJECTS: Mapping[str, Callable[..., forms.Field]] = {"hidden_count": HiddenCountField, "target": target_field}
"""Fields that are objects in recipe files, and that a form takes in a notation of its own."""


def part_fields(statistic: type[Statistic[Any]]) -> dict[str, forms.Field]:
    """A field for each that recipes of the statistic may have, under any of its trust models."""
    subjects = [Subject(statistic, TRUST_MODELS[trust]) for trust in trusts_of(statistic)]
    return {
        field.name: _field(field)
        for part in PARTS.values()
        if part.in_files
        for field in part.fields
        if any(field.name in part.fields_of(subject) for subject in subjects)
    }


def _field(described: PartField) -> forms.Field:
    if described.number is not None:
        low, high = described.number
        ranged = Description(label=described.label, help=described.help, minimum=low, maximum=high)
        return number_field(ranged, int, required=False)
    texts: dict[str, Any] = {"label": described.label, "help_text": described.help}
    if described.lines:
        return LabelsField(most=described.lines, length=described.length, **texts)
    texts["required"] = False
    if described.choices and isinstance(described.choices[0][0], bool):
        choices = [("True" if value else "", text) for value, text in described.choices]
        return forms.TypedChoiceField(coerce=bool, empty_value=None, choices=choices, **texts)
    if described.choices:
        return forms.ChoiceField(choices=described.choices, initial=described.choices[0][0], **texts)
    if described.length:
        return forms.CharField(max_length=described.length, **texts)
    return OBJECTS[described.name](**texts)

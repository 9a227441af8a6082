"""The public parameters of a recipe as rows of a table, from their own descriptions."""

import dataclasses
import json
from dataclasses import dataclass

from panprivacy.formats.parameters import PublicParameters, description_of
from panprivacy.recipe.parts import PARTS
from panprivacy.recipe.parts.bundle import PART as BUNDLE
from panprivacy.recipe.parts.bundle import BundleAccess
from panprivacy.recipe.parts.interface import PartialRecipe
from panprivacy.statistics.trust_models import TRUST_MODELS
from web.numbers import number


@dataclass(frozen=True)
class ParameterRow:
    """One parameter: how it is called, its value in full, what it means, whether it was computed."""

    label: str
    value: str
    help: str
    derived: bool


def parameter_rows(parameters: PublicParameters) -> list[ParameterRow]:
    """Every parameter that has a value, derived ones included."""
    values = parameters.as_dict()
    return [
        ParameterRow(description.label, _text(values[field.name]), description.help, description.derived)
        for field in dataclasses.fields(parameters)
        if field.name in values
        for description in (description_of(field),)
    ]


def part_rows(recipe: PartialRecipe) -> list[ParameterRow]:
    """The optional parts of a draft or a published recipe as rows of the same table, but for those that pages
    show in sections of their own. None for what the recipe does not have."""
    rows = _bundle_rows(recipe)
    for part in PARTS.values():
        if part.has_section or part.name not in recipe.parts:
            continue
        values = part.document_fields(recipe.parts[part.name])
        rows += [
            ParameterRow(field.label, _text(values[field.name]), field.meaning, False)
            for field in part.fields
            if field.name in values
        ]
    return rows


def _bundle_rows(recipe: PartialRecipe) -> list[ParameterRow]:
    """Who may recompute the result, if its reports are published: also if that is everyone, which recipes
    leave out."""
    if not TRUST_MODELS[recipe.trust].publishes_reports:
        return []
    (field,) = BUNDLE.fields
    access = recipe.parts.get(BUNDLE.name, BundleAccess.PUBLIC)
    return [ParameterRow(field.label, dict(field.choices)[access], field.meaning, False)]


def _text(value: object) -> str:
    if isinstance(value, list):
        return "; ".join(map(str, value))
    if isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False)
    return number(value) if isinstance(value, int | float) else str(value)

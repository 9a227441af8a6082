"""The public parameters of a recipe as rows of a table, from their own descriptions."""

import dataclasses
from dataclasses import dataclass

from panprivacy.parameters import PublicParameters, description_of
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
        ParameterRow(description.label, number(values[field.name]), description.help, description.derived)
        for field in dataclasses.fields(parameters)
        if field.name in values
        for description in (description_of(field),)
    ]

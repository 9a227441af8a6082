"""The public parameters of a recipe as rows of a table, from their own descriptions."""

import dataclasses
from dataclasses import dataclass

from panprivacy.formats.parameters import PublicParameters, description_of
from panprivacy.recipe.parts.event import EventNames
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


def event_rows(event: EventNames, segments: tuple[str, ...]) -> list[ParameterRow]:
    """Event, labels and segments as rows of the same table; none for what the recipe does not name."""
    given = (
        ("Event", event.name, "What is counted, as applications call it."),
        ("Definition of the event", event.definition, "When exactly it happens."),
        ("Labels", "; ".join(event.labels), "Names of the answer’s values, in their order."),
        ("Segments", "; ".join(segments), "Each device says, scrambled, in which of these it is."),
    )
    return [ParameterRow(label, value, meaning, False) for label, value, meaning in given if value]

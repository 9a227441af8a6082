"""The fields of recipe files: which of them a given recipe may have, and reading those of its parts."""

from collections.abc import Mapping
from typing import Any

from panprivacy.formats.errors import FieldError
from panprivacy.planning.recipe_plan import plan_fields
from panprivacy.recipe.fields import OWN_FIELDS, own_fields, read_parts
from panprivacy.recipe.parts import PARTS
from panprivacy.recipe.parts.interface import Part, Subject

SERIES_FIELDS = ("every", "time_zone", "rounds", "until", "donation_rounds", "round_seconds", "public_input")
"""The fields that files of series and of recipes in rounds have in addition to the fields of a recipe
file."""


def draft_fields(subject: Subject) -> tuple[str, ...]:
    """What a recipe file may have in addition to the statistic's own parameters."""
    parts = [name for part in PARTS.values() if part.in_files for name in part.fields_of(subject)]
    return (*own_fields(subject), *parts, *plan_fields(subject.statistic))


def file_fields() -> frozenset[str]:
    """The fields that recipe files have, whatever they ask, but for plans and parameters."""
    return frozenset({*OWN_FIELDS, *(name for part in PARTS.values() for name in part.field_names)})


def parts_of_file(members: dict[str, object], subject: Subject) -> dict[str, Any]:
    """`read_parts` of a recipe file. Null is absent, unless files cannot have the field."""

    def read(part: Part[Any, Any], fields: Mapping[str, object]) -> Any:
        if not part.in_files:
            raise unknown_field(next(iter(fields)), subject)
        return part.read_file(fields)

    for part in PARTS.values():
        for name in part.field_names:
            if part.in_files and members.get(name) is None:
                members.pop(name, None)
    given = {part.name for part in PARTS.values() if members.keys() & set(part.field_names)}
    values = read_parts(members, subject, read=read, unknown=lambda name: unknown_field(name, subject))
    for part in PARTS.values():
        default = part.default(subject) if part.name not in given else None
        if default is not None:
            values[part.name] = default
    return values


def unknown_field(name: str, subject: Subject) -> FieldError:
    """The refusal of a field that this type of recipe file does not have, with all fields that it may
    have."""
    statistic = subject.statistic
    parameters = statistic.parameters_class
    chosen = [field for field in parameters.names() if field not in parameters.derived_names()]
    if name in SERIES_FIELDS:
        return FieldError(name, "is a field of a series, not of a recipe: publish this as a series")
    fields = ", ".join((*draft_fields(subject), *chosen, *subject.servers.lists))
    return FieldError(name, f"is not a field of a {statistic.statistic} recipe; it has {fields}")

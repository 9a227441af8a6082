"""The fields of recipe files and of recipes' documents, and which of them a given recipe may have."""

import re
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from panprivacy.formats.display import duration_and_seconds
from panprivacy.formats.errors import FieldError
from panprivacy.formats.parameters import Description, PublicParameters
from panprivacy.planning.recipe_plan import plan_fields
from panprivacy.recipe.parts import PARTS
from panprivacy.recipe.parts.interface import Subject

NAME_LENGTH = 120
QUESTION_LENGTH = 500

STEP_SECONDS = Description(
    label="Seconds per step", help="Length of one time step.", minimum=1, maximum=31 * 86_400
)

_OWN_FIELDS = (
    "name",
    "question",
    "statistic",
    "population",
    "trust",
    "encryption",
    "step_seconds",
    "opens_at",
    "closes_at",
)

POPULATION_PATTERN = re.compile(r"[a-z0-9-]{1,60}")


def require_population_name(value: object) -> str:
    """The name of a population; FieldError unless it is 1 to 60 of the characters a-z, 0-9 and -."""
    if not isinstance(value, str) or not POPULATION_PATTERN.fullmatch(value):
        raise FieldError("population", "must be 1 to 60 of the characters a-z, 0-9 and -")
    return value


def draft_fields(subject: Subject) -> tuple[str, ...]:
    """What a recipe file may have in addition to the statistic's own parameters."""
    parts = [name for part in PARTS.values() if part.in_files for name in part.fields_of(subject)]
    return (*own_fields(subject), *parts, *plan_fields(subject.statistic))


def own_fields(subject: Subject) -> tuple[str, ...]:
    """The fields of recipe files and documents that belong to no part, and are no parameters."""
    silent = set()
    if "steps" not in subject.statistic.parameters_class.names():
        silent.add("step_seconds")
    if not subject.servers.encrypts(subject.statistic):
        silent.add("encryption")
    return tuple(name for name in _OWN_FIELDS if name not in silent)


def file_fields() -> frozenset[str]:
    """The fields that recipe files have, whatever they ask, but for plans and parameters."""
    return frozenset({*_OWN_FIELDS, *(name for part in PARTS.values() for name in part.field_names)})


def parts_of_file(members: dict[str, object], subject: Subject) -> dict[str, Any]:
    """Take the fields of all parts out of a recipe file, and read them. Null is absent.

    Returns:
        the value of each part that the recipe has, by the part's name.

    Raises:
        FieldError: names the first field that such a recipe cannot have, or that is out of range.
    """
    values = {}
    for part in PARTS.values():
        given = _taken(members, part.field_names)
        if given and not part.in_files:
            raise unknown_field(next(iter(given)), subject)
        given = {name: value for name, value in given.items() if value is not None}
        _require_placed(part.name, given, subject)
        value = part.read_file(given) if given else None
        if value is not None:
            values[part.name] = value
    return values


def parts_of_document(members: dict[str, object], subject: Subject) -> dict[str, Any]:
    """The same of a document, strictly: null is a value, which each part refuses."""
    values = {}
    for part in PARTS.values():
        given = _taken(members, part.field_names)
        _require_placed(part.name, given, subject)
        if given:
            values[part.name] = part.read_document(given)
    return values


def _taken(members: dict[str, object], names: tuple[str, ...]) -> dict[str, object]:
    return {name: members.pop(name) for name in names if name in members}


def _require_placed(name: str, given: Mapping[str, object], subject: Subject) -> None:
    allowed = PARTS[name].fields_of(subject)
    for field in given:
        if field not in allowed:
            raise PARTS[name].misplaced(field, subject) or unknown_field(field, subject)


SERIES_FIELDS = ("every", "time_zone", "rounds", "until", "donation_rounds", "round_seconds", "public_input")
"""The fields that files of series and of recipes in rounds have in addition to the fields of a recipe
file."""


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


def steps_last(parameters: PublicParameters, step_seconds: int | None) -> timedelta:
    """The time that a device takes for its steps; nothing if it takes none."""
    return timedelta(seconds=parameters.step_count * (step_seconds or 0))


def require_open_for_steps(field: str, open_for: timedelta, steps: timedelta) -> None:
    """FieldError unless a recipe is open for longer than the steps last: else no device could ever report.

    Args:
        field: the field that decides it: `closes_at`, or how long it is open.
        steps: how long they last; nothing for a published document.
    """
    if open_for > steps:
        return
    taken = f"{duration_and_seconds(int(steps.total_seconds()))}, which the steps take"
    if field == "closes_at":
        raise FieldError(field, "must be later than opens_at" + (f" by more than {taken}" if steps else ""))
    raise FieldError(field, f"must be above {taken}")

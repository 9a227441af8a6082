"""The fields that recipe files and recipes' documents have in common."""

import re
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

from panprivacy.formats.display import duration_and_seconds
from panprivacy.formats.errors import FieldError
from panprivacy.formats.parameters import Description, PublicParameters
from panprivacy.recipe.parts import PARTS
from panprivacy.recipe.parts.interface import Part, Subject

NAME_LENGTH = 120
QUESTION_LENGTH = 500

STEP_SECONDS = Description(
    label="Seconds per step", help="Length of one time step.", minimum=1, maximum=31 * 86_400
)

OWN_FIELDS = (
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


def own_fields(subject: Subject) -> tuple[str, ...]:
    """The fields of recipe files and documents that belong to no part, and are no parameters."""
    silent = set()
    if "steps" not in subject.statistic.parameters_class.names():
        silent.add("step_seconds")
    if not subject.servers.encrypts(subject.statistic):
        silent.add("encryption")
    return tuple(name for name in OWN_FIELDS if name not in silent)


def pop_fields(members: dict[str, object], names: tuple[str, ...]) -> dict[str, object]:
    """Remove these fields from a file or document; returns those that it has."""
    return {name: members.pop(name) for name in names if name in members}


def read_parts(
    members: dict[str, object],
    subject: Subject,
    *,
    read: Callable[[Part[Any, Any], Mapping[str, object]], Any],
    unknown: Callable[[str], FieldError],
) -> dict[str, Any]:
    """Remove the fields of all parts from a recipe file or document, and read them.

    Args:
        read: the value of a part from its fields, at least one; None if the part is absent.
        unknown: the refusal of a field, by its name, that such a recipe cannot have.

    Returns:
        the value of each part that the recipe has, by the part's name.

    Raises:
        FieldError: names the first field that such a recipe cannot have, or that is out of range.
    """
    values = {}
    for part in PARTS.values():
        # A statistic may have a parameter of the same name.
        known = subject.statistic.parameters_class.names()
        fields = pop_fields(members, tuple(name for name in part.field_names if name not in known))
        for name in fields:
            if name not in part.fields_of(subject):
                raise part.misplaced(name, subject) or unknown(name)
        value = read(part, fields) if fields else None
        if value is not None:
            values[part.name] = value
    return values


def steps_duration(parameters: PublicParameters, step_seconds: int | None) -> timedelta:
    """The time that a device takes for its steps; nothing if it takes none."""
    return timedelta(seconds=parameters.step_count * (step_seconds or 0))


def require_open_for_steps(field: str, open_for: timedelta, steps: timedelta) -> None:
    """FieldError unless a recipe is open for longer than the steps last: otherwise no device could report.

    Args:
        field: the field that decides it: `closes_at`, or how long it is open.
        steps: how long they last; nothing for a published document.
    """
    if open_for > steps:
        return
    longer_than = f"{duration_and_seconds(int(steps.total_seconds()))}, which the steps take"
    if field == "closes_at":
        raise FieldError(
            field, "must be later than opens_at" + (f" by more than {longer_than}" if steps else "")
        )
    raise FieldError(field, f"must be above {longer_than}")

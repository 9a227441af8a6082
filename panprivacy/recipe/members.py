"""The fields of recipe files and of recipes' documents, and which of them a given recipe may have."""

import re
from datetime import timedelta
from typing import Any

from panprivacy.accounting.trust import Trust
from panprivacy.formats.display import duration_and_seconds
from panprivacy.formats.errors import FieldError
from panprivacy.formats.parameters import Description, PublicParameters
from panprivacy.planning.recipe_plan import plan_fields
from panprivacy.recipe.parts import admission as asked_admission
from panprivacy.recipe.parts import hidden_count as asked_hidden_count
from panprivacy.recipe.parts import round as asked_round
from panprivacy.recipe.parts import target as asked_target
from panprivacy.recipe.parts.event import EVENT_FIELDS
from panprivacy.statistics import segments as asked_segments
from panprivacy.statistics.device_input import DeviceInput
from panprivacy.statistics.interface import Statistic
from panprivacy.statistics.trust_models import TRUST_MODELS

OPTIONAL_FIELDS = (
    *EVENT_FIELDS,
    asked_segments.FIELD,
    asked_hidden_count.FIELD,
    *asked_admission.FIELDS,
    asked_round.FIELD,
    *asked_target.FIELDS,
)
"""Fields that may be absent from a document."""

NAME_LENGTH = 120
QUESTION_LENGTH = 500

STEP_SECONDS = Description(
    label="Seconds per step", help="Length of one time step.", minimum=1, maximum=31 * 86_400
)

DRAFT_FIELDS = (
    "name",
    "question",
    *OPTIONAL_FIELDS,
    "statistic",
    "population",
    "trust",
    "encryption",
    "step_seconds",
    "opens_at",
    "closes_at",
)
"""Fields of a recipe file other than the plan and the statistic's own parameters."""

POPULATION_PATTERN = re.compile(r"[a-z0-9-]{1,60}")


def require_population_name(value: object) -> str:
    """The name of a population; FieldError unless it is 1 to 60 of the characters a-z, 0-9 and -."""
    if not isinstance(value, str) or not POPULATION_PATTERN.fullmatch(value):
        raise FieldError("population", "must be 1 to 60 of the characters a-z, 0-9 and -")
    return value


def draft_fields(statistic: type[Statistic[Any]], trust: Trust) -> tuple[str, ...]:
    """What a recipe file may have in addition to the statistic's own parameters."""
    asked = [name for name in document_fields(statistic, trust) if name != asked_round.FIELD]
    return (*asked, *plan_fields(statistic))


def document_fields(statistic: type[Statistic[Any]], trust: Trust) -> tuple[str, ...]:
    """`DRAFT_FIELDS` without those that do not apply to such a recipe."""
    silent = {"labels"} if statistic.scalar else set()
    if not asked_segments.allowed(statistic):
        silent.add(asked_segments.FIELD)
    if not asked_hidden_count.allowed(statistic):
        silent.add(asked_hidden_count.FIELD)
    if "steps" not in statistic.parameters_class.names():
        silent.add("step_seconds")
    if not TRUST_MODELS[trust].encrypts(statistic):
        silent.add("encryption")
    if TRUST_MODELS[trust].report_format is None:
        silent.update(asked_admission.FIELDS)
    if "sampling_rate" not in statistic.parameters_class.names():
        silent.update(asked_target.FIELDS)
    if statistic.device_input not in (DeviceInput.EVENTS, DeviceInput.RANDOMIZED):
        silent.add(asked_round.FIELD)
    return tuple(name for name in DRAFT_FIELDS if name not in silent)


SERIES_FIELDS = ("every", "time_zone", "rounds", "until", "donation_rounds", "round_seconds", "public_input")
"""The fields that files of series and of recipes in rounds have in addition to the fields of a recipe
file."""


def unknown_field(name: str, statistic: type[Statistic[Any]], trust: Trust) -> FieldError:
    """The refusal of a field that this type of recipe file does not have, with all fields that it may
    have."""
    parameters = statistic.parameters_class
    given = [field for field in parameters.names() if field not in parameters.derived_names()]
    if name in SERIES_FIELDS:
        return FieldError(name, "is a field of a series, not of a recipe: publish this as a series")
    fields = ", ".join((*draft_fields(statistic, trust), *given, *TRUST_MODELS[trust].lists))
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

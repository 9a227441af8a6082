"""What recipe files and recipes' documents have as members, and which of them such a recipe may have."""

import re
from datetime import timedelta
from typing import Any

from panprivacy import asked_admission, asked_hidden_count, asked_round, asked_segments, asked_target
from panprivacy.asked_event import EVENT_FIELDS
from panprivacy.errors import FieldError
from panprivacy.mechanisms.cohort import CohortStatistic
from panprivacy.parameters import Description, PublicParameters, as_typed
from panprivacy.recipe_plan import plan_fields
from panprivacy.shown import duration_and_seconds
from panprivacy.statistic import Statistic
from panprivacy.trust import Trust
from panprivacy.trust_models import TRUST_MODELS, trust_named, trusts_of

OPTIONAL_FIELDS = (
    *EVENT_FIELDS,
    asked_segments.FIELD,
    asked_hidden_count.FIELD,
    *asked_admission.FIELDS,
    asked_round.FIELD,
    *asked_target.FIELDS,
)
"""Members that may be absent from a document of any format."""

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
"""Fields of a recipe file beside the plan and the statistic's own parameters."""

POPULATION_PATTERN = re.compile(r"[a-z0-9-]{1,60}")


def require_population_name(value: object) -> str:
    """The name of a population; FieldError unless it is 1 to 60 of the characters a-z, 0-9 and -."""
    if not isinstance(value, str) or not POPULATION_PATTERN.fullmatch(value):
        raise FieldError("population", "must be 1 to 60 of the characters a-z, 0-9 and -")
    return value


def draft_fields(statistic: type[Statistic[Any]], trust: Trust) -> tuple[str, ...]:
    """What a recipe file may have beside the statistic's own parameters."""
    asked = [name for name in document_fields(statistic, trust) if name != asked_round.FIELD]
    return (*asked, *plan_fields(statistic))


def document_fields(statistic: type[Statistic[Any]], trust: Trust) -> tuple[str, ...]:
    """`DRAFT_FIELDS` without those that say nothing of such a recipe."""
    silent = {"labels"} if statistic.scalar else set()
    if not asked_segments.allowed(statistic):
        silent.add(asked_segments.FIELD)
    if not asked_hidden_count.allowed(statistic):
        silent.add(asked_hidden_count.FIELD)
    if "steps" not in statistic.parameters_class.names():
        silent.add("step_seconds")
    if not TRUST_MODELS[trust].encrypts(statistic):
        silent.add("encryption")
    if not TRUST_MODELS[trust].takes_reports:
        silent.update(asked_admission.FIELDS)
    if "sampling_rate" not in statistic.parameters_class.names():
        silent.update(asked_target.FIELDS)
    if not issubclass(statistic, CohortStatistic):
        silent.add(asked_round.FIELD)
    return tuple(name for name in DRAFT_FIELDS if name not in silent)


SERIES_FIELDS = ("every", "time_zone", "rounds", "until", "donation_rounds", "round_seconds", "public_input")
"""What files of series and of recipes in rounds have beside the members of a recipe file."""


def unknown_field(name: str, statistic: type[Statistic[Any]], trust: Trust) -> FieldError:
    """The refusal of a member that a recipe file of this kind has not, with all those that it may have."""
    parameters = statistic.parameters_class
    given = [field for field in parameters.names() if field not in parameters.derived_names()]
    if name in SERIES_FIELDS:
        return FieldError(name, "is a field of a series, not of a recipe: publish this as a series")
    fields = ", ".join((*draft_fields(statistic, trust), *given, *TRUST_MODELS[trust].lists))
    return FieldError(name, f"is not a field of a {statistic.statistic} recipe; it has {fields}")


def trust_of(value: object, statistic: type[Statistic[Any]]) -> Trust:
    """The trust model of that name; FieldError unless `statistic` can be asked under it."""
    if not isinstance(value, str) or value not in trusts_of(statistic):
        allowed = " or ".join(trust.value for trust in trusts_of(statistic))
        raise FieldError("trust", f"must be {allowed} for {statistic.statistic}, not {as_typed(value)}")
    return trust_named(value)


def steps_last(parameters: PublicParameters, step_seconds: int | None) -> timedelta:
    """How long a device takes for its steps; nothing where it takes none."""
    return timedelta(seconds=parameters.step_count * (step_seconds or 0))


def require_open_for_steps(field: str, open_for: timedelta, steps: timedelta) -> None:
    """FieldError unless a recipe is open for longer than the steps last: else no device could ever report.

    Args:
        field: which decides it: `closes_at`, or how long it is open.
        steps: how long they last; nothing for a document that is published, whatever it asked for.
    """
    if open_for > steps:
        return
    taken = f"{duration_and_seconds(int(steps.total_seconds()))}, which the steps take"
    if field == "closes_at":
        raise FieldError(field, "must be later than opens_at" + (f" by more than {taken}" if steps else ""))
    raise FieldError(field, f"must be above {taken}")

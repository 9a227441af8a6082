"""Which results can be compared, and their differences."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.db.models import QuerySet

from panprivacy.formats.errors import FieldError
from panprivacy.formats.parameters import as_typed
from panprivacy.recipe.document import IDENTIFIER_PATTERN, PublishedRecipe
from recipes.access import recipes_visible_to
from recipes.models import Recipe
from results.changes import Change, change_between
from results.excerpt import excerpt_of, interval_of, verdict_of
from results.models import Release
from results.parts import hidden_reason
from results.selectors import with_release

MOST = 10
"""Results that are compared at once."""

MOST_LOOKED_AT = 60
"""Number of recipes that are searched for others to compare with, the newest first."""

HOW_WELL = frozenset(
    {
        "epsilon",
        "delta",
        "aggregator_epsilon",
        "cohort_size",
        "sampling_rate",
        "guarantee",
        "coin",
        "noise_scale",
        "table_size",
        "announced_intrusions",
        "accuracy",
        "hash_seed",
    }
)
"""Parameters that state how well something is protected or known. Any other states what is counted."""


class Obstacle(StrEnum):
    """Why two results cannot be compared. Programs read the values."""

    NO_RESULT = "no_result"
    VERDICT = "verdict"
    NO_INTERVAL = "no_interval"
    SIMULATION = "simulation"
    STATISTIC = "statistic"
    PARAMETERS = "parameters"
    WINDOW = "window"
    EVENT = "event"
    EVENT_UNKNOWN = "event_unknown"
    DEFINITION = "definition"
    DEFINITION_UNKNOWN = "definition_unknown"
    QUESTION = "question"
    ITEMS_UNKNOWN = "items_unknown"
    LABELS = "labels"
    SEGMENTS = "segments"
    POPULATION = "population"
    POPULATION_UNKNOWN = "population_unknown"
    LEVEL = "level"
    SEGMENT_HIDDEN = "segment_hidden"


@dataclass(frozen=True)
class Compared:
    """One result compared with the first one.

    Attributes:
        release: None if there is none yet.
        obstacles: why it cannot be compared with the first one; empty for the first one itself.
        change: from the first one to this one; None for the first one, and if there are obstacles.
    """

    recipe: Recipe
    release: Release | None
    obstacles: tuple[Obstacle, ...]
    change: Change | None


def recipes_to_compare(
    user: AbstractBaseUser | AnonymousUser, identifiers: Sequence[str], *, least: int = 2
) -> list[Recipe]:
    """The published recipes with these identifiers and their releases, in this order.

    Raises:
        FieldError: named `recipe`: they are fewer than `least` or more than `MOST`, one is repeated, or no
            published recipe that the account may know of has it.
    """
    if not least <= len(identifiers) <= MOST:
        raise FieldError("recipe", f"must be given {least} to {MOST} times, not {len(identifiers)}")
    if len(set(identifiers)) < len(identifiers):
        raise FieldError("recipe", "must name different recipes; one is repeated")
    rows = recipes_visible_to(user).filter(identifier__in=[_text(one) for one in identifiers])
    found = {str(recipe.identifier): recipe for recipe in rows.select_related("release")}
    for identifier in identifiers:
        if identifier not in found:
            raise FieldError("recipe", f"must be the identifier of a recipe here, not {as_typed(identifier)}")
        if found[identifier].unreadable:
            raise FieldError("recipe", f"must be one that can be read: {found[identifier].unreadable}")
    return [found[identifier] for identifier in identifiers]


def segment_to_compare(recipes: Sequence[Recipe], label: str) -> str:
    """The label of the segment that is compared; empty for the whole population.

    Raises:
        FieldError: named `segment`: the first recipe does not ask by it.
    """
    segments = recipes[0].published.segments if recipes else ()
    if label and label not in segments:
        allowed = f"one of {', '.join(segments)}, or left out" if segments else "left out: there are none"
        raise FieldError("segment", f"must be {allowed}; not {as_typed(label)}")
    return label


def results_compare(recipes: Sequence[Recipe], segment: str = "") -> list[Compared]:
    """Each of 1 to `MOST` published recipes with the first one. All differences hold together, also those
    between any other two of them.

    Args:
        segment: by `segment_to_compare`.
    """
    first = recipes[0]
    obstacles = [(), *(obstacles_between(first, other, segment) for other in recipes[1:])]
    among = sum(not found for found in obstacles)
    compared: list[Compared] = []
    for recipe, found in zip(recipes, obstacles, strict=True):
        release: Release | None = getattr(recipe, "release", None)
        change = None
        if recipe is not first and not found and release is not None:
            change = change_between(first.release, release, segment, among=among)
        compared.append(Compared(recipe, release, found, change))
    return compared


def comparable_with(user: AbstractBaseUser | AnonymousUser, recipe: Recipe) -> list[Recipe]:
    """Recipes whose results can be compared with that of this one, the newest first: those among the newest
    of its statistic and population."""
    same = _released(user).filter(statistic=recipe.statistic, population=recipe.population)
    same = same.filter(simulation=recipe.simulation).exclude(pk=recipe.pk)
    return [other for other in _readable(same) if not obstacles_between(recipe, other)]


def latest_results(user: AbstractBaseUser | AnonymousUser) -> list[Recipe]:
    """The newest recipes with a result."""
    return _readable(_released(user))


def obstacles_between(one: Recipe, other: Recipe, segment: str = "") -> tuple[Obstacle, ...]:
    """Every reason for which the results of two published recipes cannot be compared; none if they can."""
    return tuple(dict.fromkeys(_obstacles(one, other, segment)))


def _released(user: AbstractBaseUser | AnonymousUser) -> QuerySet[Recipe]:
    return with_release(recipes_visible_to(user).filter(release__outcome=Release.Outcome.RELEASED))


def _readable(recipes: QuerySet[Recipe]) -> list[Recipe]:
    """The newest of them, but for those with nothing to show."""
    return [recipe for recipe in recipes[:MOST_LOOKED_AT] if not recipe.unreadable]


def _obstacles(one: Recipe, other: Recipe, segment: str) -> Iterator[Obstacle]:
    yield from _of_the_results([_result(one), _result(other)])
    if one.simulation != other.simulation:
        yield Obstacle.SIMULATION
    yield from _of_the_questions(one.published, other.published)
    yield from _unless_same(
        one.published.population, other.published.population, Obstacle.POPULATION, Obstacle.POPULATION_UNKNOWN
    )
    results = [result for result in (_result(one), _result(other)) if result is not None]
    # Other segments are an obstacle already.
    same = one.published.segments == other.published.segments
    if segment and same and any(hidden_reason(result, segment) for result in results):
        yield Obstacle.SEGMENT_HIDDEN


def _of_the_results(results: list[Release | None]) -> Iterator[Obstacle]:
    released = [result for result in results if result is not None]
    if len(released) < len(results):
        yield Obstacle.NO_RESULT
        return
    excerpts = [excerpt_of(result) for result in released]
    if any(verdict_of(excerpt) for excerpt in excerpts):
        yield Obstacle.VERDICT
        return
    levels = {None if (found := interval_of(excerpt)) is None else found.level for excerpt in excerpts}
    if None in levels:
        yield Obstacle.NO_INTERVAL
    elif len(levels) > 1:
        yield Obstacle.LEVEL


def _of_the_questions(one: PublishedRecipe, other: PublishedRecipe) -> Iterator[Obstacle]:
    if one.statistic != other.statistic:
        yield Obstacle.STATISTIC
    else:
        counted = [_counted(recipe) for recipe in (one, other)]
        if counted[0] != counted[1]:
            yield Obstacle.PARAMETERS
        elif counted[0].get("items") == "listed":
            yield Obstacle.ITEMS_UNKNOWN
        if _window(one) != _window(other):
            yield Obstacle.WINDOW
    if one.event_name is None and other.event_name is None:
        # No other parameter states what is counted.
        if one.question != other.question:
            yield Obstacle.QUESTION
    else:
        yield from _unless_same(one.event_name, other.event_name, Obstacle.EVENT, Obstacle.EVENT_UNKNOWN)
    # Definitions of events of different names differ anyway: that is reported already.
    if one.event_name == other.event_name and (one.event.definition or other.event.definition):
        yield from _unless_same(
            one.event.definition, other.event.definition, Obstacle.DEFINITION, Obstacle.DEFINITION_UNKNOWN
        )
    if one.event.labels != other.event.labels:
        yield Obstacle.LABELS
    if one.segments != other.segments:
        yield Obstacle.SEGMENTS


def _text(identifier: str) -> str:
    """What a database may be asked for: PostgreSQL refuses NUL."""
    return identifier if IDENTIFIER_PATTERN.fullmatch(identifier) else ""


def _unless_same(
    one: str | None, other: str | None, differs: Obstacle, unknown: Obstacle
) -> Iterator[Obstacle]:
    if not one or not other:
        yield unknown
    elif one != other:
        yield differs


def _result(recipe: Recipe) -> Release | None:
    release: Release | None = getattr(recipe, "release", None)
    return release if release is not None and release.outcome == Release.Outcome.RELEASED else None


def _counted(recipe: PublishedRecipe) -> dict[str, object]:
    """The parameters that state what is counted, but for the time, which is handled separately."""
    members = recipe.parameters.as_dict()
    # Names of events have obstacles of their own.
    otherwise = HOW_WELL | {"steps", "event", "events"}
    return {name: value for name, value in members.items() if name not in otherwise}


def _window(recipe: PublishedRecipe) -> timedelta | None:
    """For how long a device counts; None if it sends what comes, whenever it comes."""
    return recipe.steps_duration or None

"""Reading series: what came of each round, and what changed from one to the next."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet, Window
from django.db.models.functions import RowNumber

from panprivacy.formats.errors import FieldError
from panprivacy.formats.parameters import as_typed
from panprivacy.recipe.series import MOST_ROUNDS
from panprivacy.statistics.intervals.estimate import Interval
from panprivacy.statistics.segments import FIELD
from recipes.access import may_publish
from recipes.models import Recipe
from results.changes import Change, change_between
from results.models import Release
from results.parts import Part, hidden_reason, joint_part
from results.selectors import with_release
from series.models import Round, RoundsDocument, Series
from storage.columns import stored

MOST_ON_PAGE = MOST_ROUNDS
"""Rounds: all that are planned by the clock."""

MOST_RESULTS = 100
MOST_NUMBERS = 10_000
"""Of all results on a page: 1.6 MB of JSON."""

_LOOKED_BACK = 5

_UNREAD = tuple(
    f"recipe__release__{name}"
    for name in ("standard_errors", "projection", "error_bounds", "guarantees", "servers", "rejected")
)
"""Columns that can be large, and that no page of a series reads."""

_SUBJECT = re.compile(r"series ([0-9a-f]{16})(?: round [0-9]+| all rounds| rounds 1 to [0-9]+)?")
"""`Series.subject`, and the names of its reservations."""


def series_visible_to(user: AbstractBaseUser | AnonymousUser) -> QuerySet[Series]:
    """The series that an account may know of, newest first: analysts all, others none of the private
    simulations."""
    return Series.objects.all() if may_publish(user) else Series.objects.filter(private=False)


def series_list(user: AbstractBaseUser | AnonymousUser) -> QuerySet[Series]:
    """The same without recipes in rounds that were simulated."""
    return series_visible_to(user).exclude(rounds_document__simulation=True)


def rounds_behind() -> QuerySet[Round, Any]:
    """Primary keys of the recipes of rounds but the last with an outcome, of each series that has one: for a
    query that leaves them out, so that a list has each series once."""
    ended = Round.objects.filter(series=OuterRef("series"), recipe__release__isnull=False)
    behind = Exists(ended.filter(pk__gt=OuterRef("pk"))) | (Q(recipe__release=None) & Exists(ended))
    return Round.objects.filter(behind, recipe__isnull=False).values("recipe")


def series_of_subjects(subjects: Iterable[str]) -> dict[str, Series]:
    """Subject of an entry of the log, or of a line of a population's book → series, for those that are about
    one which is here."""
    named = {subject: found[1] for subject in subjects if (found := _SUBJECT.fullmatch(subject))}
    series = {one.identifier: one for one in Series.objects.filter(identifier__in=set(named.values()))}
    return {subject: series[name] for subject, name in named.items() if name in series}


def rounds_failing() -> QuerySet[Round]:
    """Rounds that are due, and could not be published so far; the most recent failure first."""
    failing = Round.objects.filter(state=Round.State.PLANNED, failures__gt=0)
    return failing.select_related("series").order_by("-retry_at")


@dataclass(frozen=True)
class Point:
    """One round of a trend.

    Attributes:
        round: with its recipe, if it has one.
        release: None if nothing is released or withheld (yet).
        part: its numbers, of the whole population or of the segment that was asked for; None if there are
            none. The interval is of all values of all rounds that have any, together.
        change: to the last round before that has a result, at a level that is of all changes of the trend
            together; None if there is none.
    """

    round: Round
    release: Release | None
    part: Part | None
    change: Change | None

    @property
    def values(self) -> tuple[float, ...]:
        """The estimates; empty if there are none."""
        return () if self.part is None else self.part.values

    @property
    def interval(self) -> Interval | None:
        """Of all of them together; None if there are none, or it is not known."""
        return None if self.part is None else self.part.interval


def segments_of(series: Series) -> list[str]:
    """Labels by which every round asks; none if it asks by none."""
    return list(series.draft.get(FIELD) or [])


def segment_to_follow(series: Series, label: str) -> str:
    """The label of the segment whose trend is shown; empty for the whole population.

    Raises:
        FieldError: named `segment`: the series does not ask by it.
    """
    return asked_segment(segments_of(series), label)


def asked_segment(segments: Sequence[str], label: str) -> str:
    """The label, if it is one of these or empty; raises FieldError as `segment_to_follow`."""
    if label and label not in segments:
        allowed = f"one of {', '.join(segments)}, or left out" if segments else "left out: there are none"
        raise FieldError("segment", f"must be {allowed}; not {as_typed(label)}")
    return label


def rounds_in_all(series: Series) -> int:
    """How many rounds there are in all; those of a simulation are added while it runs."""
    signed = RoundsDocument.objects.filter(series=series).first()
    if signed is not None:
        return signed.rounds
    return int(series.draft["rounds"]) if series.simulation else series.rounds.count()


def names_of_costs(series: Series) -> list[str]:
    """How a book names what each round costs: one that is asked by its recipe, one to come by what is
    reserved for it. None of those that were skipped."""
    rounds = series.rounds.exclude(state=Round.State.SKIPPED).order_by("number")
    return [
        series.reservation(number) if recipe is None else str(recipe)
        for number, recipe in rounds.values_list("number", "recipe__identifier")
    ]


def rounds_of(series: Series) -> QuerySet[Round]:
    """Its rounds, newest first, for a page of at most `MOST_ON_PAGE` of them that `fitting(series)` cuts."""
    return series.rounds.order_by("-pk")


def fitting(series: Series) -> Callable[[Sequence[Round]], int]:
    """The number of its rounds, from the first, that are enough for a page: those with a recipe may have a
    result, at most `MOST_RESULTS` of them with `MOST_NUMBERS` together, or one.

    Each has as many numbers as the last one, and those of its segments.
    """
    values = _released(series).order_by("-pk").values_list("recipe__release__values", flat=True).first()
    numbers = len(values or ()) * (1 + len(segments_of(series)))
    most = min(MOST_RESULTS, max(1, MOST_NUMBERS // max(1, numbers)))

    def fits(rounds: Sequence[Round]) -> int:
        asked = accumulate(found.recipe_id is not None for found in rounds)
        return sum(so_far <= most for so_far in asked)

    return fits


def trend(series: Series, rounds: Sequence[Round], segment: str = "") -> list[Point]:
    """Rounds that follow each other, in their order, with their recipes and results.

    Args:
        rounds: a page of `rounds_of`; nothing else is loaded, but the result before them. `among` how many
            results their intervals hold together counts all of the series.
        segment: by `segment_to_follow`. Results of other pages count as if they had a part for it: intervals
            then are wider than they had to be, never narrower.
    """
    (points,) = trends(series, rounds, [segment]).values()
    return points


def trends(series: Series, rounds: Sequence[Round], segments: Sequence[str]) -> dict[str, list[Point]]:
    """The same of several segments, by their labels. The intervals of all segments hold together too.

    Those of one result hold together already. A result in which some segments are hidden counts for all of
    them, so that none gets more of the failure than another.
    """
    loaded = Round.objects.select_related("recipe__release").defer(*_UNREAD)
    rounds = list(loaded.filter(pk__in=[found.pk for found in rounds]).order_by("pk"))
    released = _released(series).count()
    # One statement for all segments.
    earlier = list(_results_before(series, rounds[0], segments)) if rounds else []
    found = {}
    for segment in segments:
        results = [_told(one, segment) for one in rounds]
        told = [release for release in results if release is not None]
        shown = sum(_outcome(one) == Release.Outcome.RELEASED for one in rounds)
        hidden = shown - len(told) if len(segments) == 1 else 0
        before = _first_told(earlier, segment)
        found[segment] = _points(rounds, results, before, released - hidden, segment)
    return found


def changes_since(series: Series, baseline: int, later: Mapping[str, Point]) -> dict[str, Change | None]:
    """From the result of one round to later ones, by segment; all hold together with all other changes of
    the series. None for a segment that one of the two results does not show.

    Args:
        baseline: number of the round.
        later: segment → a point of its trend.
    """
    loaded = _released(series).select_related("recipe__release").defer(*_UNREAD)
    since, among = loaded.filter(number=baseline).first(), _released(series).count()
    changes: dict[str, Change | None] = {}
    for segment, point in later.items():
        before = None if since is None else _told(since, segment)
        known = before is not None and point.release is not None and point.values
        changes[segment] = (
            change_between(stored(before), stored(point.release), segment, among=among) if known else None
        )
    return changes


def latest_trends(followed: Sequence[Series], most: int) -> dict[int, list[Point]]:
    """The trend of each series over its newest rounds, by its primary key: of the whole population.

    The number of statements does not depend on that of series. Intervals hold together as those of `trend`.

    Args:
        followed: with one number each in a result; others may have millions.
        most: rounds of each.
    """
    newest = Window(RowNumber(), partition_by="series", order_by=F("pk").desc())
    asked = Round.objects.filter(series__in=followed).exclude(state=Round.State.PLANNED)
    loaded = asked.annotate(place=newest).filter(place__lte=most).order_by("pk")
    rounds: dict[int, list[Round]] = {series.pk: [] for series in followed}
    for found in loaded.select_related("recipe__release").defer(*_UNREAD):
        rounds[found.series_id].append(found)
    released = Round.objects.filter(series__in=followed, recipe__release__outcome=Release.Outcome.RELEASED)
    among = dict(released.order_by().values_list("series").annotate(Count("pk")))
    return {
        series: _points(own, [_told(found, "") for found in own], None, among.get(series, 0), "")
        for series, own in rounds.items()
    }


def newest_results(followed: Sequence[Series]) -> dict[int, Recipe]:
    """The newest round of each series that has a result, as a recipe with its release, by the series' primary
    key. The number of statements does not depend on that of series."""
    newest = Window(RowNumber(), partition_by="series", order_by=F("pk").desc())
    released = Round.objects.filter(series__in=followed, recipe__release__outcome=Release.Outcome.RELEASED)
    rounds = released.order_by().annotate(place=newest).filter(place=1).values_list("series", "recipe")
    recipes = with_release(Recipe.objects.all()).in_bulk([recipe for _, recipe in rounds])
    return {series: recipes[recipe] for series, recipe in rounds}


def _points(
    rounds: Sequence[Round],
    results: Sequence[Release | None],
    before: Release | None,
    among: int,
    segment: str,
) -> list[Point]:
    """Rounds that follow each other, as points.

    Args:
        results: of each round, if it has a part for the segment.
        before: the last result before them.
        among: number of results whose intervals hold together.
    """
    points = []
    for found, release in zip(rounds, results, strict=True):
        change = part = None
        if release is not None:
            change = None if before is None else change_between(before, release, segment, among=among)
            part = joint_part(release, segment, among=among)
            before = release
        points.append(Point(found, getattr(found.recipe, "release", None), part, change))
    return points


def _released(series: Series) -> QuerySet[Round]:
    return series.rounds.filter(recipe__release__outcome=Release.Outcome.RELEASED)


def result_before(series: Series, first: Round, segment: str) -> Release | None:
    """The last result before a round that has a part for the segment, with which the round is compared. Only
    a few are searched; None if none has one."""
    return _first_told(_results_before(series, first, [segment]), segment)


def _results_before(series: Series, first: Round, segments: Sequence[str]) -> QuerySet[Round]:
    """The last rounds with a result before a round, newest first: one, but some if segments may be hidden."""
    loaded = _released(series).select_related("recipe__release").defer(*_UNREAD)
    return loaded.filter(pk__lt=first.pk).order_by("-pk")[: _LOOKED_BACK if any(segments) else 1]


def _first_told(earlier: Iterable[Round], segment: str) -> Release | None:
    """The first result that has a part for the segment; None if none has."""
    return next((told for found in earlier if (told := _told(found, segment))), None)


def _outcome(found: Round) -> str | None:
    release: Release | None = getattr(found.recipe, "release", None)
    return None if release is None else release.outcome


def _told(found: Round, segment: str) -> Release | None:
    """The result, if it has a part for the segment, and can be read."""
    if _outcome(found) != Release.Outcome.RELEASED:
        return None
    recipe = stored(found.recipe)
    release: Release = recipe.release
    return None if recipe.unreadable or (segment and hidden_reason(release, segment)) else release

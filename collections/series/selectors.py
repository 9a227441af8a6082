"""Reading series: what came of each round, and what changed from one to the next."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from django.db.models import QuerySet

from panprivacy.estimate import Interval
from releases.changes import Change, change_between, joint_interval
from releases.models import Release
from series.models import Round, Series


def series_list() -> QuerySet[Series]:
    """Every series, newest first."""
    return Series.objects.all()


def rounds_failing() -> QuerySet[Round]:
    """Rounds that are due, and could not be published so far; the most recent failure first."""
    failing = Round.objects.filter(state=Round.State.PLANNED, failures__gt=0)
    return failing.select_related("series").order_by("-retry_at")


@dataclass(frozen=True)
class Point:
    """One round of a trend.

    Attributes:
        round: with its recipe, where it has one.
        release: None where nothing is released or withheld (yet).
        interval: of all values of all rounds that have a result, together; None where there is no result.
        change: to the last round before that has a result, at a level that is of all changes of the trend
            together; None where there is none.
    """

    round: Round
    release: Release | None
    interval: Interval | None
    change: Change | None

    @property
    def values(self) -> tuple[float, ...]:
        """The estimates; empty where there is no result."""
        has_result = self.release is not None and self.release.outcome == Release.Outcome.RELEASED
        return tuple(self.release.values) if self.release is not None and has_result else ()


def trend(series: Series) -> list[Point]:
    """Every round, in its order."""
    rounds = list(series.rounds.select_related("recipe__release").order_by("number"))
    results = [_released(found) for found in rounds]
    released = [release for release in results if release is not None]
    changes = iter(_changes(released))
    points, seen = [], False
    for found, release in zip(rounds, results, strict=True):
        change = None
        if release is not None:
            change = next(changes) if seen else None
            seen = True
        interval = None if release is None else joint_interval(release, among=len(released))
        points.append(Point(found, getattr(found.recipe, "release", None), interval, change))
    return points


def _released(found: Round) -> Release | None:
    release: Release | None = getattr(found.recipe, "release", None)
    return release if release is not None and release.outcome == Release.Outcome.RELEASED else None


def _changes(releases: Sequence[Release]) -> Iterator[Change | None]:
    """From each result to the next one; None where one of the two has no interval."""
    for before, after in pairwise(releases):
        yield change_between(before, after, among=len(releases))

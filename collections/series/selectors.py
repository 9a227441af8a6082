"""Reading series: what came of each round, and what changed from one to the next."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from django.db.models import QuerySet

from panprivacy.asked_segments import FIELD
from panprivacy.errors import FieldError
from panprivacy.estimate import Interval
from panprivacy.parameters import as_typed
from releases.changes import Change, change_between
from releases.models import Release
from releases.parts import Part, hidden_reason, joint_part
from series.models import Round, Series

_SUBJECT = re.compile(r"series ([0-9a-f]{16})(?: round [0-9]+| all rounds| rounds 1 to [0-9]+)?")
"""`Series.subject`, and the names of its reservations."""


def series_list() -> QuerySet[Series]:
    """Every series of real devices, newest first."""
    return Series.objects.exclude(rounds_document__simulation=True)


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
        round: with its recipe, where it has one.
        release: None where nothing is released or withheld (yet).
        part: its numbers, of everybody or of the segment that was asked for; None where there are none. The
            interval is of all values of all rounds that have any, together.
        change: to the last round before that has a result, at a level that is of all changes of the trend
            together; None where there is none.
    """

    round: Round
    release: Release | None
    part: Part | None
    change: Change | None

    @property
    def values(self) -> tuple[float, ...]:
        """The estimates; empty where there are none."""
        return () if self.part is None else self.part.values

    @property
    def interval(self) -> Interval | None:
        """Of all of them together; None where there are none, or it is not known."""
        return None if self.part is None else self.part.interval


def segments_of(series: Series) -> list[str]:
    """Labels by which every round asks; none where it asks by none."""
    return list(series.draft.get(FIELD) or [])


def segment_to_follow(series: Series, label: str) -> str:
    """The label of the segment whose trend is shown; empty for everybody.

    Raises:
        FieldError: named `segment`: the series does not ask by it.
    """
    return asked_segment(segments_of(series), label)


def asked_segment(segments: Sequence[str], label: str) -> str:
    """The label, where it is one of these or empty; raises FieldError as `segment_to_follow`."""
    if label and label not in segments:
        allowed = f"one of {', '.join(segments)}, or left out" if segments else "left out: there are none"
        raise FieldError("segment", f"must be {allowed}; not {as_typed(label)}")
    return label


def trend(series: Series, segment: str = "") -> list[Point]:
    """Every round, in its order.

    Args:
        segment: by `segment_to_follow`.
    """
    rounds = list(series.rounds.select_related("recipe__release").order_by("number"))
    results = [_told(found, segment) for found in rounds]
    released = [release for release in results if release is not None]
    changes = iter(_changes(released, segment))
    points, seen = [], False
    for found, release in zip(rounds, results, strict=True):
        change = None
        if release is not None:
            change = next(changes) if seen else None
            seen = True
        part = None if release is None else joint_part(release, segment, among=len(released))
        points.append(Point(found, getattr(found.recipe, "release", None), part, change))
    return points


def _told(found: Round, segment: str) -> Release | None:
    """The result, where it tells something of the segment."""
    release: Release | None = getattr(found.recipe, "release", None)
    if release is None or release.outcome != Release.Outcome.RELEASED:
        return None
    return None if segment and hidden_reason(release, segment) else release


def _changes(releases: Sequence[Release], segment: str) -> Iterator[Change | None]:
    """From each result to the next one; None where one of the two has no interval."""
    for before, after in pairwise(releases):
        yield change_between(before, after, segment, among=len(releases))

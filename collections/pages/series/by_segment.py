"""A series by segment: what moved, in sentences, and every round as a row."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pages.recipe.drawn import drawn_together
from pages.recipe.presentation import level_percent
from pages.words.changes import difference_texts
from results.changes import Change
from results.parts import hidden_reason
from series.models import Round
from series.selectors import Point
from storage.columns import stored
from web.numbers import at_place, place_of

SINCE = {"day": "since the day before", "week": "since the week before", "month": "since the month before"}
"""How often a series is asked → how its sentences call the round before; any other is `the round before`."""


@dataclass(frozen=True)
class Moved:
    """A segment that changed by more than noise.

    Attributes:
        label: of the segment.
        said: what happened to it, as the rest of a sentence that begins with it.
    """

    label: str
    said: str


@dataclass(frozen=True)
class Movement:
    """What changed from one round to the newest one with a result.

    Attributes:
        moved: segments that changed by more than noise.
        still: how many show no change beyond noise.
        since: from when, as the end of a sentence.
        level: of the intervals of all changes together: "95%".
    """

    moved: tuple[Moved, ...]
    still: int
    since: str
    level: str


@dataclass(frozen=True)
class SegmentRow:
    """One round: a text for each segment, by its label; and whether any of them has a result."""

    round: Round
    named: tuple[tuple[str, str], ...]
    has_result: bool


def movement(changes: Mapping[str, Change | None], newest: Point, since: str) -> Movement | None:
    """What moved up to a point, by segment; None if nothing can be compared.

    Args:
        changes: segment → its change; None if there is none.
        since: as of `Movement`.
    """
    statistic = stored(newest.release).recipe.published.calibrated_statistic
    moved, still, levels = [], 0, set()
    for label, change in changes.items():
        if change is None or (texts := difference_texts(statistic, change, 0)) is None:
            continue
        levels.add(change.told.interval.level)
        if not change.told.more_than_noise[0]:
            still += 1
            continue
        size, ends = texts
        moved.append(Moved(label, f"is {'up' if change.told.values[0] > 0 else 'down'} by {size} ({ends})"))
    return Movement(tuple(moved), still, since, level_percent(min(levels))) if levels else None


def newest_with_result(points: Iterable[Point]) -> Point | None:
    """The last point of any segment that has a result."""
    return max((one for one in points if one.values), key=lambda one: one.round.pk, default=None)


def segment_rows(trends: Mapping[str, Sequence[Point]]) -> tuple[list[SegmentRow], str]:
    """The rounds, newest first, and the unit of their texts; rounds that were not asked are left out."""
    shown = {label: [one for one in points if len(one.values) == 1] for label, points in trends.items()}
    texts: dict[tuple[str, int], str] = {}
    unit = ""
    for label, points in shown.items():
        bounded = [one for one in points if one.interval is not None]
        if not bounded:
            continue
        statistic = stored(bounded[0].release).recipe.published.calibrated_statistic
        drawn, unit = drawn_together([stored(one.part) for one in bounded], statistic.unit, label)
        for point, one in zip(bounded, drawn, strict=True):
            low, high = one.reach
            place = place_of(max(one.value - low, high - one.value))
            ends = f"{at_place(low, place)} to {at_place(high, place)}"
            texts[label, point.round.pk] = f"{at_place(one.value, place)} ({ends})"
    rounds = next(iter(trends.values()))
    asked = [one for one in rounds if one.round.state != Round.State.PLANNED]
    return [
        SegmentRow(
            one.round,
            tuple((label, _cell(texts, one, label)) for label in trends),
            any((label, one.round.pk) in texts for label in trends),
        )
        for one in reversed(asked)
    ], unit


def _cell(texts: Mapping[tuple[str, int], str], point: Point, label: str) -> str:
    if (label, point.round.pk) in texts:
        return texts[label, point.round.pk]
    if point.release is None or point.release.recipe.unreadable:
        return ""
    return "hidden" if point.release.segments and hidden_reason(point.release, label) else ""

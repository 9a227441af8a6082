"""The rounds of a series as rows: what came of each, and in words what changed."""

from dataclasses import dataclass
from typing import Any

from pages.recipe.presentation import Headline, headline
from panprivacy.difference import Difference
from panprivacy.statistic import Statistic
from series.models import Round
from series.selectors import Point
from web.numbers import at_place, place_of


@dataclass(frozen=True)
class TrendRow:
    """One round.

    Attributes:
        latest: its result in one sentence; None where there is none.
        gap: why there is none and never will be; empty where there is one, or may be.
        change: what changed since the last result; empty for the first one.
        changed: whether that is more than noise.
    """

    round: Round
    latest: Headline | None
    gap: str
    change: str
    changed: bool


def trend_rows(points: list[Point]) -> list[TrendRow]:
    """Newest first."""
    return [_row(point) for point in reversed(points)]


def _row(point: Point) -> TrendRow:
    recipe, release = point.round.recipe, point.release
    has_result = bool(recipe and release and point.values)
    return TrendRow(
        round=point.round,
        latest=headline(recipe, release) if recipe and release and has_result else None,
        gap=point.round.reason or ("" if release is None or has_result else release.reason),
        change=change_in_words(recipe.published.calibrated_statistic, point.change)
        if recipe and point.change
        else "",
        changed=bool(point.change and any(point.change.more_than_noise)),
    )


def change_in_words(statistic: Statistic[Any], change: Difference) -> str:
    """One sentence; of several values, how many changed."""
    changed = sum(change.more_than_noise)
    if not statistic.scalar:
        if not changed:
            return f"None of the {len(change.values)} values changed by more than noise."
        return f"{changed} of {len(change.values)} values changed by more than noise."
    (value,), (low,), (high,) = change.values, change.interval.low, change.interval.high
    if low is None or high is None:
        return "How much it changed is not known."
    place = place_of(max(value - low, high - value)) if high > low else 0
    ends = f"{at_place(low, place)} to {at_place(high, place)}"
    if not changed:
        return f"No change beyond noise ({ends})."
    direction = "Up" if value > 0 else "Down"
    return f"{direction} by {at_place(abs(value), place)} {statistic.unit} ({ends}): more than noise."

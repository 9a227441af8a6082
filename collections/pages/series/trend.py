"""The rounds of a series as rows: what came of each, and in words what changed."""

from dataclasses import dataclass

from pages.recipe.presentation import Headline, headline
from pages.recipe.segments import segment_headline
from pages.words.changes import change_in_words
from recipes.models import Recipe
from results.models import Release
from results.parts import hidden_reason
from series.models import Round
from series.selectors import Point


@dataclass(frozen=True)
class TrendRow:
    """One round.

    Attributes:
        latest: its result in one sentence; None if there is none.
        gap: why there is none and never will be; empty if there is one, or may be.
        change: what changed since the last result; empty for the first one.
        changed: whether that is more than noise.
    """

    round: Round
    latest: Headline | None
    gap: str
    change: str
    changed: bool


def trend_rows(points: list[Point], segment: str = "") -> list[TrendRow]:
    """Newest first.

    Args:
        segment: the one that the trend is of; empty for the whole population.
    """
    return [_row(point, segment) for point in reversed(points)]


def _row(point: Point, segment: str) -> TrendRow:
    recipe, release = point.round.recipe, point.release
    has_result = bool(recipe and release and point.values)
    return TrendRow(
        round=point.round,
        latest=_latest(recipe, release, segment) if recipe and release and has_result else None,
        gap=point.round.reason or ("" if release is None or has_result else _gap(release, segment)),
        change=change_in_words(recipe.published.calibrated_statistic, point.change)
        if recipe and point.change
        else "",
        changed=bool(point.change and any(point.change.told.more_than_noise)),
    )


def _latest(recipe: Recipe, release: Release, segment: str) -> Headline:
    return segment_headline(release, segment) if segment else headline(recipe, release)


def _gap(release: Release, segment: str) -> str:
    if release.recipe.unreadable:
        return "the recipe cannot be read by this version of the software"
    withheld = release.outcome != Release.Outcome.RELEASED
    return release.reason if withheld or not segment else hidden_reason(release, segment)

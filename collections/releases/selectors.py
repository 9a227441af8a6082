"""Reading results."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

from django.db.models import QuerySet

from recipes.models import Recipe
from recipes.selectors import recipes_search
from releases.models import Release

LEVEL = 0.95

MOST_SHOWN = 200
MOST_DRAWN = 30
"""Estimates that a page shows in its table and in its chart; of more, the largest. The files have all."""


@dataclass(frozen=True)
class Interval:
    """Where the truth of every value lies.

    Attributes:
        level: share of repeats whose interval covers the truth: of each value where it is by normal
            approximation, of all together where it is by error bounds.
        low, high: one bound per value.
    """

    level: float
    low: list[float]
    high: list[float]

    def at(self, positions: Sequence[int]) -> "Interval":
        """That of these values alone."""
        return Interval(
            self.level,
            [self.low[position] for position in positions],
            [self.high[position] for position in positions],
        )


def overview_search(*, text: str = "", status: str = "all", before: int | None = None) -> QuerySet[Recipe]:
    """Published and closed recipes with their releases, newest first.

    Args:
        text, before: as in `recipes_search`.
        status: as there, or an outcome: `released` or `withheld`.
    """
    recipes = recipes_search(text=text, status=status, before=before).select_related("release")
    return recipes.filter(release__outcome=status) if status in Release.Outcome.values else recipes


def interval_of(release: Release, level: float = LEVEL) -> Interval | None:
    """The interval at `level` (between 0 and 1) around the unbiased estimates of a release, by normal
    approximation; None where no standard error tells how far they lie from the truth."""
    if not release.standard_errors or verdict_of(release):
        return None
    factor = NormalDist().inv_cdf((1 + level) / 2)
    return _around(release, level, [factor * error for error in release.standard_errors])


def bounds_of(release: Release) -> Interval | None:
    """The estimates with their error bounds, at the confidence of these; None where there are none."""
    if not release.error_bounds or release.confidence is None:
        return None
    return _around(release, release.confidence, release.error_bounds)


def shown_interval_of(release: Release, level: float = LEVEL) -> Interval | None:
    """The interval at `level` that pages show around each estimate; None where `joint_bounds_of` stands
    in its place."""
    return interval_of(release, level) if joint_bounds_of(release) is None else None


def joint_bounds_of(release: Release) -> Interval | None:
    """The error bounds where they are of several estimates at once; else None.

    Whoever looks at the largest of many has chosen it by its error, which an interval for a single
    estimate does not allow for: among many with the truth 0, the largest lies beyond its own.
    """
    return bounds_of(release) if len(release.values) > 1 else None


def shown_positions(release: Release, most: int = MOST_SHOWN) -> list[int]:
    """Which estimates a page shows, at most so many, in their order."""
    everyone = range(len(release.values))
    if len(release.values) <= most:
        return list(everyone)
    return sorted(sorted(everyone, key=lambda position: -release.values[position])[:most])


def verdict_of(release: Release) -> str:
    """The verdict of a test; empty where something is estimated. A test's standard error is that under the
    hypothesis, and puts no interval around what came out."""
    return str((release.details or {}).get("verdict", ""))


def _around(release: Release, level: float, margins: list[float]) -> Interval:
    pairs = list(zip(release.values, margins, strict=True))
    return Interval(
        level, [value - margin for value, margin in pairs], [value + margin for value, margin in pairs]
    )

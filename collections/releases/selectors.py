"""Reading results."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

from django.db.models import QuerySet

from recipes.models import Recipe
from recipes.selectors import recipes_search
from releases.excerpt import Excerpt
from releases.models import NUMBERS, Release
from storage.columns import stored

LEVEL = 0.95

Numbers = Release | Excerpt
"""Estimates with what is known of their errors: all of a release, or those that its page shows."""


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


def overview_search(*, text: str = "", status: str = "all") -> QuerySet[Recipe]:
    """Published and closed recipes with their releases, newest first.

    Args:
        text: as in `recipes_search`.
        status: as there, or an outcome: `released` or `withheld`.
    """
    recipes = with_release(recipes_search(text=text, status=status))
    return recipes.filter(release__outcome=status) if status in Release.Outcome.values else recipes


def with_release(recipes: QuerySet[Recipe]) -> QuerySet[Recipe]:
    """The same with the release of each, but for its numbers, which may be megabytes: pages show its
    excerpt, and whoever asks for one of `NUMBERS` of a release that came this way waits for another query."""
    return recipes.select_related("release").defer(*(f"release__{name}" for name in NUMBERS))


def excerpt_of(release: Release) -> Excerpt:
    """What pages show of a released result."""
    return Excerpt(**stored(release.excerpt), confidence=release.confidence, details=release.details)


def interval_of(numbers: Numbers, level: float = LEVEL) -> Interval | None:
    """The interval at `level` (between 0 and 1) around the unbiased estimates, by normal approximation;
    None where no standard error tells how far they lie from the truth."""
    if not numbers.standard_errors or verdict_of(numbers):
        return None
    factor = NormalDist().inv_cdf((1 + level) / 2)
    return _around(numbers, level, [factor * error for error in numbers.standard_errors])


def bounds_of(excerpt: Excerpt) -> Interval | None:
    """The estimates with their error bounds, at the confidence of these; None where there are none."""
    if not excerpt.error_bounds or excerpt.confidence is None:
        return None
    return _around(excerpt, excerpt.confidence, excerpt.error_bounds)


def shown_interval_of(excerpt: Excerpt, level: float = LEVEL) -> Interval | None:
    """The interval at `level` that pages show around each estimate; None where `joint_bounds_of` stands
    in its place."""
    return interval_of(excerpt, level) if joint_bounds_of(excerpt) is None else None


def joint_bounds_of(excerpt: Excerpt) -> Interval | None:
    """The error bounds where they are of several estimates at once; else None.

    Whoever looks at the largest of many has chosen it by its error, which an interval for a single
    estimate does not allow for: among many with the truth 0, the largest lies beyond its own.
    """
    return bounds_of(excerpt) if len(excerpt.values) > 1 else None


def verdict_of(numbers: Numbers) -> str:
    """The verdict of a test; empty where something is estimated. A test's standard error is that under the
    hypothesis, and puts no interval around what came out."""
    return str((numbers.details or {}).get("verdict", ""))


def _around(numbers: Numbers, level: float, margins: list[float]) -> Interval:
    pairs = list(zip(numbers.values, margins, strict=True))
    return Interval(
        level, [value - margin for value, margin in pairs], [value + margin for value, margin in pairs]
    )

"""Reading results."""

from dataclasses import dataclass
from statistics import NormalDist

from django.db.models import QuerySet

from recipes.models import Recipe
from recipes.selectors import recipes_search
from releases.models import Release

LEVEL = 0.95


@dataclass(frozen=True)
class Interval:
    """Confidence interval of every value, by normal approximation.

    Attributes:
        level: share of repeats whose interval covers the truth.
        low, high: one bound per value.
    """

    level: float
    low: list[float]
    high: list[float]


def overview_search(*, text: str = "", status: str = "all", before: int | None = None) -> QuerySet[Recipe]:
    """Published and closed recipes with their releases, newest first.

    Args:
        text, before: as in `recipes_search`.
        status: as there, or an outcome: `released` or `withheld`.
    """
    recipes = recipes_search(text=text, status=status, before=before).select_related("release")
    return recipes.filter(release__outcome=status) if status in Release.Outcome.values else recipes


def interval_of(release: Release, level: float = LEVEL) -> Interval:
    """The interval at `level` (between 0 and 1) around the unbiased estimates of a release."""
    factor = NormalDist().inv_cdf((1 + level) / 2)
    pairs = list(zip(release.values, release.standard_errors, strict=True))
    return Interval(
        level,
        [value - factor * error for value, error in pairs],
        [value + factor * error for value, error in pairs],
    )

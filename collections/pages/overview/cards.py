"""A recipe in a list: its state, and its result in a sentence and a small chart."""

from dataclasses import dataclass

from django.urls import reverse
from django.utils import timezone
from django.utils.safestring import SafeString

from pages.charts.shown import small_chart
from pages.recipe.charts import release_chart
from pages.recipe.presentation import (
    Headline,
    Status,
    headline,
    is_below_cohort,
    release_of,
    status_of,
)
from recipes.models import Recipe
from results.models import Release


@dataclass(frozen=True)
class Card:
    """One recipe, with the small chart of its result.

    Attributes:
        chart: None without a result, and in the table.
        asked: the time, if another one on the page asks the same, to distinguish them; else empty.
    """

    recipe: Recipe
    status: Status
    latest: Headline | None
    chart: SafeString | None
    below_cohort: bool
    asked: str

    @property
    def address(self) -> str:
        """Of its page."""
        if self.recipe.identifier is None:
            return reverse("recipe-draft", args=[self.recipe.pk])
        return reverse("recipe", args=[self.recipe.identifier])


def card_of(recipe: Recipe, asked: str = "", *, charts: bool = True, key: str = "") -> Card:
    """The card of a recipe that was read with its release (`with_release`); no statement is needed.

    Args:
        asked: as of `Card`.
        charts: whether a result is drawn.
        key: unique on the page, if it may show a recipe twice.
    """
    release = release_of(recipe)
    status = status_of(recipe, release, timezone.now())
    if release is None or release.outcome != Release.Outcome.RELEASED or recipe.unreadable:
        return Card(recipe, status, None, None, is_below_cohort(release), asked)
    chart = small_chart(release_chart(recipe, release, None), key or f"card-{recipe.pk}") if charts else None
    return Card(recipe, status, headline(recipe, release), chart, below_cohort=False, asked=asked)

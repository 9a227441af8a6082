"""A comparison in words and rows."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.http import QueryDict

from pages.compare.reasons import reason
from pages.recipe.presentation import Headline, headline
from pages.recipe.segments import segment_headline
from pages.words.changes import change_in_words, difference_texts
from recipes.models import Recipe
from results.changes import Change
from results.comparisons import Compared
from results.excerpt import excerpt_of
from results.models import Release


@dataclass(frozen=True)
class ValueRow:
    """The difference of one of several values, as text."""

    label: str
    difference: str
    ends: str
    changed: bool


@dataclass(frozen=True)
class ShownResult:
    """One result compared with the first one.

    Attributes:
        number: from 1, as in the charts.
        latest: its answer; None without a result.
        reasons: why it cannot be compared; empty if it can.
        change: in one sentence; empty without a difference.
        rows: of several values, those that the result's own page shows.
        without, first: query strings of the same comparison without it, and with it as the first one; the
            former is empty if fewer than two would be left.
    """

    number: int
    recipe: Recipe
    latest: Headline | None
    reasons: list[str]
    change: str
    changed: bool
    rows: list[ValueRow]
    without: str
    first: str


@dataclass(frozen=True)
class Choice:
    """A result that can be chosen, and whether it can be compared with the first one."""

    recipe: Recipe
    latest: Headline
    comparable: bool


MOST_CHOICES = 20
"""Results that are offered of either kind."""


def shown_results(compared: Sequence[Compared], segment: str = "") -> list[ShownResult]:
    """In their order.

    Args:
        segment: the one that was compared; empty for the whole population.
    """
    names = [str(one.recipe.identifier) for one in compared]
    first = compared[0].recipe
    shown = []
    for number, (one, name) in enumerate(zip(compared, names, strict=True), start=1):
        others = [other for other in names if other != name]
        statistic = one.recipe.published.calibrated_statistic
        changed = one.change is not None and any(one.change.told.more_than_noise)
        shown.append(
            ShownResult(
                number=number,
                recipe=one.recipe,
                latest=_latest(one.recipe, one.release, segment),
                reasons=[reason(obstacle, first, one.recipe) for obstacle in one.obstacles],
                change=change_in_words(statistic, one.change) if one.change else "",
                changed=changed,
                rows=_rows(one, one.change) if one.change and not statistic.scalar else [],
                without=comparison_query(others, segment) if len(others) > 1 else "",
                first=comparison_query([name, *others], segment),
            )
        )
    return shown


def choices_of(
    comparable: Sequence[Recipe], latest: Sequence[Recipe], chosen: Sequence[Recipe]
) -> list[Choice]:
    """Results that can be compared with the first chosen one, then the newest others."""
    known = {recipe.pk for recipe in chosen}
    fitting = [recipe for recipe in comparable if recipe.pk not in known][:MOST_CHOICES]
    known |= {recipe.pk for recipe in comparable}
    others = [recipe for recipe in latest if recipe.pk not in known][:MOST_CHOICES]
    return [
        Choice(recipe, headline(recipe, recipe.release), fits)
        for recipes, fits in ((fitting, True), (others, False))
        for recipe in recipes
    ]


def _latest(recipe: Recipe, release: Release | None, segment: str) -> Headline | None:
    if release is None or release.outcome != Release.Outcome.RELEASED:
        return None
    return segment_headline(release, segment) if segment else headline(recipe, release)


def _rows(one: Compared, change: Change) -> list[ValueRow]:
    rows, statistic = [], one.recipe.published.calibrated_statistic
    for position in excerpt_of(one.release).positions if one.release else []:
        found = difference_texts(statistic, change, position)
        sign = "−" if change.told.values[position] < 0 else "+"
        rows.append(
            ValueRow(
                label=one.recipe.published.label(position),
                difference="not known" if found is None else f"{sign}{found[0]}",
                ends="" if found is None else found[1],
                changed=change.told.more_than_noise[position],
            )
        )
    return rows


def comparison_query(names: Sequence[str], segment: str = "") -> str:
    """The query string of a comparison of recipes with these identifiers."""
    query = QueryDict(mutable=True)
    query.setlist("recipe", list(names))
    if segment:
        query["segment"] = segment
    return query.urlencode()

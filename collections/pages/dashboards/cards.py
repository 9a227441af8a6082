"""What a reader sees of a dashboard: a few statements, however many cards it has."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.urls import reverse
from django.utils.safestring import SafeString

from pages.charts.shown import small_chart
from pages.dashboards.access import Reader, readable_recipes
from pages.dashboards.models import Dashboard
from pages.overview.cards import Card, card_of
from pages.series.charts import trend_chart
from pages.series.trend import trend_rows
from panprivacy.formats.errors import FieldError
from panprivacy.statistics.catalogue import statistic_class
from recipes.models import Recipe
from results.selectors import with_release
from series.models import Series
from series.selectors import Point, latest_trends, newest_results, series_visible_to

ROUNDS = 20
"""Rounds of a trend: its newest. Its own page has all."""


@dataclass(frozen=True)
class ShownCard:
    """One card.

    Attributes:
        place: in the dashboard, from 0.
        type: as it is stored.
        title: its own, or the question that is asked; empty for a text.
        address: of the page with everything; empty for a text, and if that page is not there.
        card: of the result, or of a series' newest one; None if there is none.
        chart: None without a result.
        change: of a series, since the result before its newest; empty if there is none.
        changed: whether that is more than noise.
        paragraphs: of a text.
    """

    place: int
    type: str
    title: str
    address: str = ""
    card: Card | None = None
    chart: SafeString | None = None
    change: str = ""
    changed: bool = False
    paragraphs: tuple[str, ...] = ()


def shown_cards(dashboard: Dashboard, reader: Reader) -> list[ShownCard]:
    """Its cards in their order.

    A result that the reader does not find on the site is left out, and so is a series that is not there: a
    reader learns no more than from their own pages.
    """
    recipes = _recipes(dashboard, reader)
    followed = _series(dashboard, reader)
    newest = newest_results(list(followed.values()))
    trends = latest_trends([one for one in followed.values() if _has_one_number(one)], ROUNDS)
    shown = []
    for place, card in enumerate(dashboard.cards):
        if card["type"] == "text":
            paragraphs = tuple(part for part in card["text"].split("\n\n") if part.strip())
            shown.append(ShownCard(place, "text", "", paragraphs=paragraphs))
        elif card["type"] == "result" and (recipe := recipes.get(card["recipe"])):
            shown.append(_result(place, card["title"], recipe))
        elif card["type"] == "series" and (series := followed.get(card["series"])):
            points = trends.get(series.pk, [])
            shown.append(_trend(place, card["title"], series, newest.get(series.pk), points))
    return shown


def readable_cards(dashboard: Dashboard, reader: Reader) -> list[dict[str, str]]:
    """The stored cards, without results and series that the reader does not find on the site."""
    asked = {card["recipe"] for card in dashboard.cards if card["type"] == "result"}
    found = set(readable_recipes(reader).filter(identifier__in=asked).values_list("identifier", flat=True))
    found |= _series(dashboard, reader).keys()
    return [
        card
        for card in dashboard.cards
        if card["type"] == "text" or (card.get("recipe") or card["series"]) in found
    ]


@dataclass(frozen=True)
class EditedCard:
    """One card in the form: its name, and what can be changed."""

    type: str
    name: str
    title: str = ""
    text: str = ""
    recipe: str = ""
    series: str = ""


def edited_cards(cards: Sequence[Mapping[str, str]], reader: Reader) -> list[EditedCard]:
    """Cards, stored or typed, as the form shows them; without the name of a result that the reader does not
    find on the site."""
    followed = series_visible_to(reader).filter(
        identifier__in={card["series"] for card in cards if "series" in card}
    )
    names = {series.identifier: series.name for series in followed}
    recipes = readable_recipes(reader).filter(
        identifier__in={card["recipe"] for card in cards if "recipe" in card}
    )
    names |= {str(recipe.identifier): recipe.name for recipe in recipes.only("identifier", "name")}
    return [
        EditedCard(name=names.get(card.get("recipe") or card.get("series", ""), ""), **card) for card in cards
    ]


def _recipes(dashboard: Dashboard, reader: Reader) -> dict[str, Recipe]:
    """Identifier → published recipe with its release."""
    asked = {card["recipe"] for card in dashboard.cards if card["type"] == "result"}
    recipes = with_release(readable_recipes(reader).filter(identifier__in=asked))
    return {str(recipe.identifier): recipe for recipe in recipes}


def _series(dashboard: Dashboard, reader: Reader) -> dict[str, Series]:
    asked = {card["series"] for card in dashboard.cards if card["type"] == "series"}
    return {series.identifier: series for series in series_visible_to(reader).filter(identifier__in=asked)}


def _result(place: int, title: str, recipe: Recipe) -> ShownCard:
    card = card_of(recipe, key=f"card-{place}")
    return ShownCard(place, "result", title or recipe.question, card.address, card, card.chart)


def _trend(
    place: int, title: str, series: Series, newest: Recipe | None, points: Sequence[Point]
) -> ShownCard:
    card = None if newest is None else card_of(newest, key=f"card-{place}")
    drawn = None if card is None else card.chart
    rows = trend_rows([point for point in points if point.values])
    chart = trend_chart(series, list(points), [])
    return ShownCard(
        place,
        "series",
        title or str(series.draft.get("question", series.name)),
        reverse("series", args=[series.identifier]),
        card,
        drawn if chart is None else small_chart(chart, f"card-{place}"),
        rows[0].change if rows else "",
        bool(rows and rows[0].changed),
    )


def _has_one_number(series: Series) -> bool:
    """Whether a result has one number: only of such ones rounds are read together."""
    try:
        return statistic_class(str(series.draft.get("statistic"))).scalar
    except FieldError:  # published with another version
        return False

"""What anybody may ask of a series is bounded, however many rounds it has; older ones come in pages."""

from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from panprivacy.statistics.intervals.difference import widened
from recipes.models import Recipe
from results.excerpt import interval_of
from results.models import Release
from series import selectors
from series.api import series_document  # before a limit is patched that its description states
from series.models import Round, Series
from tests.page_text import page_text
from tests.scenes import finished_recipe

pytestmark = pytest.mark.django_db

START = datetime(2026, 3, 1, tzinfo=UTC)
NAMES = ("document", "signature", "opens_at", "closes_at", "published_at")


def series_of(recipe: Recipe) -> Series:
    return Series.objects.create(
        identifier="5" * 16, name="Crashes", draft={**recipe.draft, "every": "week"}, published_at=START
    )


def repeat(series: Series, recipe: Recipe, rounds: int) -> None:
    """So many further rounds that had this result: rows alone, as a real round takes a while."""
    begun = series.rounds.count()
    asked = Recipe.objects.filter(pk=recipe.pk).values().get()
    result = Release.objects.filter(recipe=recipe).values().get()
    for name in ("id", "recipe_id"):
        del result[name]
    for name in ("id", "identifier", "status", "closed_at"):
        del asked[name]
    published = {"status": Recipe.Status.PUBLISHED, **{name: asked.pop(name) for name in NAMES}}
    for number in range(begun, begun + rounds):
        one = Recipe.objects.create(**asked)
        Recipe.objects.filter(pk=one.pk).update(identifier=f"{number:064x}", **published)
        Release.objects.create(recipe_id=one.pk, **result)
        opens_at, state = START + timedelta(days=number), Round.State.PUBLISHED
        series.rounds.create(number=number + 1, opens_at=opens_at, state=state, recipe=one)


def address(series: Series, name: str) -> str:
    return reverse(name, args=["0" * 64 if name == "api-recipe-series" else series.identifier])


@pytest.fixture
def recipe():
    return finished_recipe([[1]] * 30, epsilon=8.0, cohort_size=20)


@pytest.fixture
def loaded(monkeypatch):
    """One element for each release that is read from the database."""
    found, from_db = [], Release.from_db.__func__

    def counted(*row):
        found.append(row)
        return from_db(*row)

    monkeypatch.setattr(Release, "from_db", classmethod(counted))
    return found


@pytest.mark.parametrize("name", ["api-series", "api-recipe-series", "series"])
def test_answer_of_twice_as_many_rounds_takes_no_more_queries(client, recipe, monkeypatch, loaded, name):
    monkeypatch.setattr(selectors, "MOST_RESULTS", 4)
    series = series_of(recipe)
    taken, sizes = [], []
    for _ in range(2):
        repeat(series, recipe, 10)
        loaded.clear()
        with CaptureQueriesContext(connection) as queries:
            answer = client.get(address(series, name))
        assert answer.status_code == 200
        taken.append((len(queries), len(loaded)))
        sizes.append(len(answer.content))
    assert taken[0] == taken[1]
    assert taken[0][1] == 5  # one beside the page: the result from which the first of it changed
    # Numbers of rounds, times and ends that are wider have some digits more.
    assert sizes[1] < 1.05 * sizes[0]


def test_results_of_many_values_come_in_shorter_pages(monkeypatch):
    recipe = finished_recipe([[1, 0, 0, 0]] * 30, statistic="histogram", k=3, epsilon=8.0, cohort_size=20)
    monkeypatch.setattr(selectors, "MOST_NUMBERS", 15)
    series = series_of(recipe)
    repeat(series, recipe, 7)
    found = series_document(series)
    assert [one["number"] for one in found["rounds"]] == [5, 6, 7]
    # No page is empty, however many values one result has.
    monkeypatch.setattr(selectors, "MOST_NUMBERS", 1)
    found = series_document(series)
    assert [one["number"] for one in found["rounds"]] == [7]


def test_pages_lead_through_all_rounds_once_and_changes_reach_over_them(client, recipe, monkeypatch):
    series = series_of(recipe)
    repeat(series, recipe, 9)
    Round.objects.create(series=series, number=10, opens_at=START)
    whole = client.get(address(series, "api-series")).json()
    assert whole["next"] is None
    monkeypatch.setattr(selectors, "MOST_RESULTS", 4)
    rounds, following, sizes = [], address(series, "api-series"), []
    while following:
        page = client.get(following).json()
        rounds, following = page["rounds"] + rounds, page["next"]
        sizes.append(len(page["rounds"]))
    assert rounds == whole["rounds"]
    assert sizes == [5, 4, 1]  # a round that is only planned takes no place
    assert [one["change"] is None for one in rounds] == [True] + [False] * 8 + [True]
    refused = client.get(address(series, "api-series"), {"cursor": "x"})
    assert (refused.status_code, refused.json()["field"]) == (400, "cursor")


def test_intervals_of_a_page_hold_together_with_those_of_all_others(client, recipe, monkeypatch):
    monkeypatch.setattr(selectors, "MOST_RESULTS", 2)
    series = series_of(recipe)
    repeat(series, recipe, 30)
    (found, _) = client.get(address(series, "api-series")).json()["rounds"]
    expected = widened(recipe.release.values, interval_of(recipe.release), 60, step=1.0)
    assert found["interval"]["low"] == list(expected.low)


def test_page_of_a_series_shows_the_newest_rounds_and_leads_to_older_ones(client, recipe, monkeypatch):
    monkeypatch.setattr(selectors, "MOST_RESULTS", 4)
    series = series_of(recipe)
    repeat(series, recipe, 6)
    Round.objects.create(series=series, number=7, opens_at=START)
    path = address(series, "series")
    newest = page_text(client.get(path))
    key = series.rounds.get(number=3).pk
    assert f'<a href="{path}?before={key}">Older rounds</a>' in newest
    assert "Newest rounds" not in newest
    older = page_text(client.get(path, {"before": key}))
    assert f'<a href="{path}?">Newest rounds</a>' in older
    for page in (newest, older):
        assert "7 rounds. The next one opens" in page
    assert f"{2:064x}" in newest
    assert f"{2:064x}" not in older
    assert client.get(path, {"before": "x"}).status_code == 400

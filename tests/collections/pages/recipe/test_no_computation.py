"""Pages and API show a published recipe without computing a number of its privacy or of its error."""

import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse
from django.utils.http import urlencode

from pages.awaited_numbers import SENTENCES
from pages.dashboards.operations import dashboard_create
from recipes.models import Recipe
from series.models import Series
from series.operations import rounds_advance, series_publish
from simulations.tries import try_join
from storage.answers.questions import State
from tests.collections.pages.scene import TABS
from tests.collections.publishing.conftest import _leader  # noqa: F401  # for every test
from tests.collections.publishing.scene import two_server_recipe
from tests.collections.shuffle.analyzer.conftest import _analyzer  # noqa: F401  # for every test
from tests.collections.shuffle.analyzer.scene import shuffle_recipe
from tests.collections.simulations.scene import small_tries
from tests.collections.storage.answers.scene import work, workers_answer
from tests.factories import recipe_members
from tests.page_text import page_text
from tests.scenes import (
    account,
    announced,
    closed_stream,
    finish,
    finished_recipe,
    open_recipe,
    open_stream,
    simulated_recipe,
)

pytestmark = pytest.mark.django_db

COMPUTES = re.compile(r"/panprivacy/(accounting|planning|intervals|statistics)/(.*)|/scipy/(.*)")
"""Files of the mathematics."""

ENTRIES = {
    *(
        "guarantee",
        "guarantees",
        "local_guarantees",
        "open_guarantees",
        "aggregator_event",
        "require_promise",
    ),
    *("calibrated", "robustness", "expected_margin", "expected_standard_error", "expected_error_bound"),
    *("expected_sums", "after"),
}
"""Of `panprivacy.statistics`; the rest of it reads parameters and names values."""

CLOSED = {
    "accounting/guarantees.py",  # a guarantee as it is stored
    "accounting/interface.py",  # an event as it is stored
    "accounting/number_cache.py",  # the key of a question
    "accounting/registry.py",
    "accounting/trust.py",
    "intervals/difference.py",  # additions, and one logarithm a result
    "intervals/estimate.py",
    "planning/recipe_plan.py",
}
"""What takes microseconds: types, and closed formulas."""

CLOSED_FUNCTIONS = {"margin_points", "final_reports"}

RECIPES: dict[str, tuple[Callable[[], Recipe], tuple[str, ...]]] = {
    "count": (
        lambda: open_recipe([1] * 21, cohort_size=2, population_size=400, target_margin=1),
        ("Planned: <strong>± ", "Closing now: about ± "),
    ),
    "histogram": (lambda: simulated_recipe({0: 6, 1: 3}, statistic="histogram", k=2), ("Planned: ", "95%")),
    "mean": (
        lambda: open_recipe([1] * 5, statistic="mean", k=2, guarantee="aggregator"),
        ("Planned: ", "Devices refuse cohorts below 100"),
    ),
    "count of two servers": (two_server_recipe, ("Planned: ",)),
    "categories": (
        lambda: finished_recipe(
            [[1, 0, 0]] * 6, statistic="categories", steps=None, k=3, simulation=True, epsilon=4.0
        ),
        ("Planned: ", "One dishonest device moves one value by at most"),
    ),
    "vectors": (
        lambda: two_server_recipe(
            statistic="vector_mean", steps=None, dimension=6, bits=5, epsilon=20.0, cohort_size=10
        ),
        ("Planned: ", "One dishonest device moves one value by at most"),
    ),
    "distinct values": (lambda: shuffle_recipe(simulation=False), ("Planned: ",)),
    "uniformity": (lambda: shuffle_recipe(statistic="uniformity", k=3, alpha=0.3, epsilon=5.0), ()),
    "stream": (
        lambda: announced(open_stream(range(30))),
        ("Planned: ", '<td data-label="A bit is 1, item came">up to 5', "nnounce an intrusion"),
    ),
    "closed stream": (
        lambda: closed_stream(open_stream(range(30), statistic="cropped_mean", t=5)),
        ("Planned: ", "at most"),
    ),
}


@pytest.fixture(autouse=True)
def _site(settings: Any, client: Client) -> None:
    settings.TRY = True
    client.force_login(account("ada", "Analysts", is_staff=True, is_superuser=True))


@contextmanager
def computed() -> Iterator[set[str]]:
    """The entry points of the mathematics that are called within the block, cached or not."""
    for name, module in list(sys.modules.items()):
        if name.split(".")[0] in {"panprivacy", "pages", "recipes", "results", "simulations", "ledger"}:
            for holder in (module, *(one for one in vars(module).values() if isinstance(one, type))):
                for kept in list(vars(holder).values()):
                    if callable(clear := getattr(getattr(kept, "__func__", kept), "cache_clear", None)):
                        clear()
    # Reading a document checks what its publisher derived. That is kept.
    for recipe in Recipe.objects.exclude(document=""):
        assert not recipe.unreadable
    found: set[str] = set()

    def called(frame: FrameType, event: str, _: object) -> None:
        name = frame.f_code.co_name
        if event != "call" or not (file := COMPUTES.search(frame.f_code.co_filename)):
            return
        of_statistics = file[1] == "statistics"
        closed = name in CLOSED_FUNCTIONS or f"{file[1]}/{file[2]}" in CLOSED or name.startswith("<")
        if name in ENTRIES if of_statistics else not closed:
            found.add(f"{file[0]}: {name}")

    sys.setprofile(called)
    try:
        yield found
    finally:
        sys.setprofile(None)


def addresses(recipe: Recipe) -> list[str]:
    """Of all that shows one recipe."""
    names = [*TABS, "recipe-progress", "api-recipe"]
    if recipe.status == Recipe.Status.PUBLISHED:
        names += ["recipe-close", *(["recipe-announce"] if recipe.statistic == "density" else [])]
    if hasattr(recipe, "release"):
        names += ["result-json", "result-csv", "result-svg", "api-result"]
    return [reverse(name, args=[recipe.identifier]) for name in names]


def shown(client: Client, paths: list[str], sent: list[str]) -> str:
    """All pages, once workers have answered; none of them computes anything."""
    for path in paths:
        client.get(path)
    work(sent)
    pages = []
    with computed() as found:
        for path in paths:
            page = client.get(path)
            assert page.status_code == 200, path
            assert "Refresh" not in page, path
            pages.append(b"".join(page) if page.streaming else page.content)
            assert not found, path
    assert sent == []
    return page_text(HttpResponse(b"\n".join(pages)))


@pytest.mark.parametrize("name", RECIPES)
def test_pages_of_a_recipe_compute_nothing_and_show_it_all(
    name: str, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    make, texts = RECIPES[name]
    recipe = Recipe.objects.get(pk=make().pk)
    text = shown(client, addresses(recipe), workers_answer(monkeypatch))
    for said in texts:
        assert said in text
    assert not any(sentence in text for sentence in SENTENCES.values())


def test_margin_that_no_worker_has_computed_is_said_to_be_awaited(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = open_recipe([1] * 21, cohort_size=2)
    address = reverse("recipe", args=[recipe.identifier])
    sent = workers_answer(monkeypatch)
    with computed() as found:
        page = client.get(address)
    assert not found
    assert SENTENCES[State.COMPUTING] in page_text(page)
    assert page["Refresh"] == "3"
    progress, before = reverse("recipe-progress", args=[recipe.identifier]), page.context["shown"]
    assert client.get(progress, {"shown": before}).status_code == 204
    work(sent)
    assert "Closing now: about ± " in page_text(client.get(progress, {"shown": before}))


def test_pages_about_several_recipes_compute_nothing(
    client: Client, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    small_tries(monkeypatch, settings)
    cache.clear()
    results = [finished_recipe([[1]] * 20, epsilon=8.0, cohort_size=20) for _ in range(2)]
    every = recipe_members(every="week", rounds=3, epsilon=8.0, cohort_size=2)
    series = series_publish(members=every, actor=None)
    rounds_advance()
    finish(Series.objects.get().rounds.get(number=1).recipe)
    cards = [{"type": "result", "recipe": one.identifier} for one in results]
    cards.append({"type": "series", "series": series.identifier})
    owner = User.objects.get(username="ada")
    dashboard = dashboard_create(title="Week", public=True, cards=cards, actor=owner)
    query = urlencode({"recipe": [one.identifier for one in results]}, doseq=True)
    paths = [
        "/",
        *(reverse(name, args=[dashboard.identifier]) for name in ("dashboard", "dashboard-embed")),
        reverse("populations"),
        reverse("population", args=["everyone"]),
        reverse("series", args=[series.identifier]),
        f"{reverse('compare')}?{query}",
        f"{reverse('comparison-csv')}?{query}",
        f"{reverse('api-comparison')}?{query}",
        reverse("recipe-simulate", args=[results[0].identifier]),
        reverse("try-it"),
        *(reverse(name) for name in ("api-recipes", "api-series-list")),
        reverse("api-series", args=[series.identifier]),
    ]
    joined = try_join(asker="")
    paths += [
        reverse(name, args=[one])
        for name, one in (("try", joined.recipe.identifier), ("simulation", joined.pk))
    ]
    shown(client, paths, workers_answer(monkeypatch))

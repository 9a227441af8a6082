"""Requests show numbers that workers computed, and compute none themselves."""

import json
from typing import Any
from urllib.parse import urlencode

import pytest
from django.test import Client
from django.urls import reverse

from ledger.budget import Budget
from ledger.models import Spending
from ledger.operations import population_create
from pages.awaited_numbers import SENTENCES
from pages.publish.views import LATE
from recipes.budget import FITTING
from recipes.models import Recipe
from series.operations import rounds_advance, series_approval_ask, series_publish
from simulations.models import Simulation
from storage.answers.models import Question
from storage.answers.questions import State
from tests.collections.pages.scene import draft_page, form_data, new_url, publish
from tests.collections.recipes.planner.scene import computes_nothing, own_caches
from tests.collections.storage.answers.scene import work, workers_answer
from tests.factories import draft_recipe, recipe_members
from tests.page_text import page_text
from tests.scenes import account

pytestmark = pytest.mark.django_db

MEAN = {"statistic": "mean", "guarantee": "local", "k": 2, "cohort_size": 20}
"""Its noise is calibrated."""

HIDDEN = {"epsilon": 0.5, "delta": 1e-6}
"""The rate of its dummies is."""


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch, settings: Any) -> list[str]:
    own_caches(settings, "composed")
    return workers_answer(monkeypatch, previews=True)


def test_publishing_finds_all_numbers_computed(
    signed_in: Client, sent: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("pilots", "clinics", "wards"):
        population_create(name=name, description="", budget=Budget(epsilon=8.0, delta=1e-4), actor=None)
    draft = draft_recipe(**MEAN, population="pilots")
    shared = {**MEAN, "rounds": 2, "steps": 1}
    series = [
        recipe_members(**shared, population="clinics", every="day"),
        recipe_members(**shared, population="wards", round_seconds=90_000),
    ]

    def series_published() -> list[int]:
        return [
            signed_in.post("/api/v1/series/", one, content_type="application/json").status_code
            for one in series
        ]

    draft_page(signed_in, draft)
    assert series_published() == [503, 503]
    work(sent)
    draft_page(signed_in, draft)
    work(sent)
    computes_nothing(monkeypatch)
    assert "Effect on the budget" in draft_page(signed_in, draft)
    assert publish(signed_in, draft).status_code == 302
    draft.refresh_from_db()
    assert draft.published.calibrated_statistic.parameters.noise_scale > 0
    assert draft.guarantees.stated
    assert series_published() == [201, 201]


def test_form_shows_and_refuses_what_workers_computed(
    signed_in: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = workers_answer(monkeypatch)
    values = form_data(k="2", guarantee="local", cohort_size="100")
    noisy = values | {"epsilon": "1e-6"}
    preview, form = new_url("mean", page="recipe-preview"), new_url("mean")

    def shown() -> str:
        return page_text(signed_in.post(preview, values))

    def saved(given: dict[str, Any]) -> int:
        return signed_in.post(form, given).status_code

    with monkeypatch.context() as before:
        computes_nothing(before)
        assert LATE[State.COMPUTING] in shown()
        assert [saved(values), saved(noisy)] == [302, 302]
    work(sent)
    computes_nothing(monkeypatch)
    assert "About 95 of 100 repeats would land" in shown()
    assert [saved(values), saved(noisy)] == [302, 422]


def test_simulation_of_a_draft_computes_nothing(
    signed_in: Client, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    settings.SITE_URL = "https://panapp.example"
    sent = workers_answer(monkeypatch)
    drafts = [draft_recipe(**MEAN), draft_recipe(sampling_rate=0.5, hidden_count=HIDDEN, population_size=900)]

    def simulated() -> list[int]:
        address = [reverse("draft-simulate", args=[draft.pk]) for draft in drafts]
        assert [signed_in.get(one).status_code for one in address] == [200, 200]
        devices = {"kind": "bernoulli", "devices": "40", "rate": "0.2"}
        return [signed_in.post(one, devices).status_code for one in address]

    with monkeypatch.context() as before:
        computes_nothing(before)
        assert simulated() == [200, 200]  # the form waits, and sends itself again
        assert not Simulation.objects.exists()
    work(sent)
    computes_nothing(monkeypatch)
    assert simulated() == [302, 302]


@pytest.mark.parametrize("segments", [["2.0", "2.1"], []])
def test_simulation_of_a_series_suggests_what_workers_computed(
    signed_in: Client, monkeypatch: pytest.MonkeyPatch, settings: Any, segments: list[str]
) -> None:
    settings.SITE_URL = "https://panapp.example"
    sent = workers_answer(monkeypatch)
    draft = draft_recipe(epsilon=4.0, segments=segments or None, cohort_size=1000, population_size=12_000)
    address = reverse("draft-series-simulate", args=[draft.pk])
    query = {"every": "week", "rounds": 2}

    def suggested() -> str:
        return page_text(signed_in.get(address, query))

    with monkeypatch.context() as before:
        computes_nothing(before)
        assert "What shows is not computed yet" in suggested()
        assert signed_in.post(f"{address}?{urlencode(query)}", {"rounds": "2"}).status_code == 422
    work(sent)
    computes_nothing(monkeypatch)
    assert "What is suggested shows" in suggested()


def test_stopping_gives_back_without_computing(signed_in: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    members = recipe_members(**MEAN, rounds=3, round_seconds=90_000, steps=1)
    series = series_publish(members=members, actor=None)
    rounds_advance()
    computes_nothing(monkeypatch)
    held = Spending.objects.get()
    address = reverse("api-series-stop", args=[series.identifier])
    assert signed_in.post(address, {}, content_type="application/json").status_code == 200
    left = Spending.objects.get(returns=None, returned_by=None)
    assert left.event == {**held.event, "times": 1}
    assert left.event_if_half_colludes == {**held.event_if_half_colludes, "times": 1}


def test_cost_of_other_numbers_is_asked_for_again(signed_in: Client, sent: list[str]) -> None:
    """Two machines may round differently."""
    draft = draft_recipe(**MEAN)
    address = "/api/v1/series/"
    members = recipe_members(**MEAN, every="day", rounds=2, steps=1)

    def published() -> list[int]:
        series = signed_in.post(address, members, content_type="application/json")
        return [publish(signed_in, draft).status_code, series.status_code]

    published()
    work(sent)
    for question in Question.objects.filter(kind=FITTING.name):
        answer = question.answered
        answer["derived"]["noise_scale"] += 1e-6
        question.answer = json.dumps(answer)
        question.save()
    assert published() == [422, 503]
    assert not Spending.objects.exists()
    assert not Recipe.objects.exclude(status=Recipe.Status.DRAFT).exists()
    published()
    work(sent)
    assert published() == [302, 201]


def test_drafts_warning_is_shown_once_it_is_computed(
    signed_in: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = workers_answer(monkeypatch)
    draft = draft_recipe(sampling_rate=0.5, hidden_count=HIDDEN, population_size=1_000, cohort_size=1_500)
    drafts = "/api/v1/recipes/drafts/"

    def warnings() -> list[str | None]:
        listed = signed_in.get(drafts).json()["results"]
        return [one["warning"] for one in (*listed, signed_in.get(f"{drafts}{draft.pk}/").json())]

    with monkeypatch.context() as before:
        computes_nothing(before)
        assert warnings() == [None, None]
        draft_page(signed_in, draft)
    work(sent)
    draft_page(signed_in, draft)
    work(sent)
    computes_nothing(monkeypatch)
    unlikely, again = warnings()
    assert unlikely
    assert unlikely.startswith("Nothing would be released")
    assert unlikely == again == signed_in.get(f"{drafts}{draft.pk}/review/").json()["warning"]
    page = draft_page(signed_in, draft)
    assert unlikely in page
    assert "Planned: " not in page


def test_proposed_series_is_shown_before_and_after_it_is_computed(
    signed_in: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = workers_answer(monkeypatch)
    population_create(name="pilots", description="", budget=None, actor=None, four_eyes=True)
    members = recipe_members(**MEAN, population="pilots", round_seconds=90_000, rounds=2, steps=1)
    proposal = series_approval_ask(members=members, actor=account("ada", "Analysts"))
    address = reverse("series-proposal", args=[proposal.pk])
    with monkeypatch.context() as before:
        computes_nothing(before)
        assert SENTENCES[State.COMPUTING] in page_text(signed_in.get(address))
    work(sent)
    computes_nothing(monkeypatch)
    page = page_text(signed_in.get(address))
    assert "Noise" in page
    assert "hardly scrambles" not in page


def test_form_finds_its_promise_and_warnings_computed(
    signed_in: Client, sent: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    address, values = new_url(page="recipe-promise"), form_data(population_size="900")

    def promised() -> str:
        return page_text(signed_in.post(address, values))

    promised()
    work(sent)
    computes_nothing(monkeypatch)
    page = promised()
    for said in ("Effect on the budget", "Nothing would be released", "Largest cohort with which"):
        assert said in page


def test_form_asks_again_by_itself_for_its_figures(
    signed_in: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = workers_answer(monkeypatch)
    page = signed_in.get(new_url("count_nonzero")).content.decode()
    assert "look=1" in page
    address = f"{reverse('recipe-preview')}?statistic=count_nonzero&look="
    values = {"steps": 7, "epsilon": 1, "delta": "1e-6", "cohort_size": 1000, "population_size": 10_000}
    assert "look=4" in signed_in.post(f"{address}3", values).content.decode()
    # It gives up after some polls; an analyst who waits longer can press the button.
    for look in ("11", "12", "-1", "x"):
        assert "look=" not in signed_in.post(f"{address}{look}", values).content.decode()
    work(sent)
    assert "± 190" in page_text(signed_in.post(f"{address}4", values))

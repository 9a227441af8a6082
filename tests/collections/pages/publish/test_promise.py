"""What a recipe guarantees and costs is computed by a worker, and pages wait for it."""

import html
import re
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from kombu.exceptions import OperationalError

from ledger.budget import Budget
from ledger.operations import population_create
from recipes.models import Recipe
from series.models import Series
from simulations.models import Simulation
from storage.answers import questions
from tests.collections.pages.scene import form_data, publish
from tests.collections.recipes.planner.scene import own_caches
from tests.collections.storage.answers.scene import work, workers_answer
from tests.factories import draft_recipe, published_recipe, recipe_members
from tests.page_text import page_text
from tests.refusals import raising
from tests.scenes import account

pytestmark = pytest.mark.django_db

ASKED: dict[str, Any] = {
    "statistic": "histogram",
    "k": 3,
    "steps": 1,
    "step_seconds": 1,
    "cohort_size": 20,
    "sampling_rate": 0.5,
}


@pytest.fixture(autouse=True)
def memory_of_this_test(settings: Any) -> None:
    own_caches(settings, "composed")


@pytest.fixture(autouse=True)
def sent(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    return workers_answer(monkeypatch, previews=True)


def test_draft_is_published_only_when_its_guarantees_are_there(signed_in: Client, sent: list[str]) -> None:
    draft = draft_recipe(**ASKED)
    address = reverse("recipe-draft", args=[draft.pk])
    waiting = signed_in.get(address)
    assert waiting.headers["Refresh"] == "3", "without scripts, too"
    for said in ("Being computed", "On how many devices did it crash?", "disabled"):
        assert said in page_text(waiting)
    refused = publish(signed_in, draft)
    assert refused.status_code == 422
    assert "Refresh" not in refused.headers, "it would ask for an address that takes posts only"
    assert "is being computed; try again" in page_text(refused)
    draft.refresh_from_db()
    assert (draft.status, len(sent)) == (Recipe.Status.DRAFT, 1)
    work(sent)
    found = signed_in.get(address)
    assert "Refresh" not in found.headers
    assert found.context["guarantees"]
    assert found.context["publishable"]
    assert publish(signed_in, draft).status_code == 302
    draft.refresh_from_db()
    assert draft.status == Recipe.Status.PUBLISHED


def test_form_asks_again_until_it_knows_why_it_would_be_refused(
    signed_in: Client, sent: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("recipes.refusals._remedies", lambda *_: iter(()))  # they take long
    population_create(name="small", description="", budget=Budget(epsilon=1.0, delta=1e-6), actor=None)
    values = {**form_data(), "population": "small", "epsilon": "14", "cohort_size": "100"}
    address = f"{reverse('recipe-promise')}?statistic=count_nonzero"
    page = signed_in.post(address, values).content.decode()
    assert "Whether it fits the budget is being computed" in page
    again = re.search(r'hx-post="([^"]+)"', page)
    assert again
    work(sent)
    page = signed_in.post(html.unescape(again[1]), values).content.decode()
    assert "It cannot be published like this" in page
    assert "is being computed" not in page


def test_programs_ask_again_for_guarantees(signed_in: Client, sent: list[str], settings: Any) -> None:
    settings.SITE_URL = "http://site.example"
    draft = draft_recipe(**ASKED)
    workload = {"kind": "bernoulli", "rate": 0.2, "devices": 30}
    requests = [
        ("get", f"/api/v1/recipes/drafts/{draft.pk}/review/", {}),
        ("post", "/api/v1/recipes/review/", recipe_members(**ASKED)),
        ("post", "/api/v1/simulations/", {"recipe": recipe_members(**ASKED), "workload": workload}),
        ("post", f"/api/v1/recipes/{draft.pk}/publish/", {"reviewed": draft.draft_hash}),
        ("post", "/api/v1/series/", recipe_members(**ASKED, every="day", rounds=3)),
    ]

    def answers() -> list[Any]:
        return [
            getattr(signed_in, method)(path, members, content_type="application/json")
            for method, path, members in requests
        ]

    for answer in answers():
        assert (answer.status_code, answer.json()["type"].rsplit("/", 1)[-1]) == (503, "unavailable")
        assert "is being computed" in answer.json()["detail"]
        assert int(answer.headers["Retry-After"]) > 0
    assert (len(sent), Simulation.objects.count()) == (1, 0)
    assert not Series.objects.exists()
    work(sent)
    assert [answer.status_code for answer in answers()] == [200, 200, 202, 200, 201]


def test_approval_waits_for_the_guarantees(signed_in: Client, sent: list[str]) -> None:
    population_create(name="pilots", description="", budget=None, actor=None, four_eyes=True)
    draft = draft_recipe(population="pilots", **ASKED)
    address = reverse("recipe-approval", args=[draft.pk])
    signed_in.post(address, {"decision": "ask", "reviewed": draft.draft_hash})
    signed_in.force_login(account("bea", "Analysts"))
    waiting = signed_in.get(reverse("recipe-draft", args=[draft.pk]))
    assert "Being computed" in page_text(waiting)
    assert 'value="approve"' not in waiting.content.decode()
    work(sent)
    assert 'value="approve"' in signed_in.get(reverse("recipe-draft", args=[draft.pk])).content.decode()


VALUES = {"steps": 3, "epsilon": 1.7, "delta": 1e-6, "cohort_size": 777, "population": "everyone"}


def test_form_shows_its_promise_once_it_is_there(signed_in: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = workers_answer(monkeypatch)
    address = f"{reverse('recipe-promise')}?statistic=count_nonzero"
    waiting = signed_in.post(address, VALUES)
    assert "Being computed" in page_text(waiting)
    assert "look=1" in waiting.content.decode(), "it asks again by itself"
    assert "look=" not in signed_in.post(f"{address}&look=11", VALUES).content.decode(), "but not for ever"
    work(asked)
    assert "Someone who" in page_text(signed_in.post(address, VALUES))


def test_form_says_why_its_promise_does_not_come(signed_in: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    workers_answer(monkeypatch)
    monkeypatch.setattr(questions, "_message", raising(OperationalError))
    monkeypatch.setattr(questions, "_silent_until", 0.0)
    address = f"{reverse('recipe-promise')}?statistic=count_nonzero"
    assert "none has begun" in page_text(signed_in.post(address, VALUES))


def test_draft_whose_cost_is_not_known_is_not_published(
    signed_in: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its guarantees are there; what it costs depends on what others have spent."""
    asked = workers_answer(monkeypatch)
    draft = draft_recipe(**ASKED)
    address = reverse("recipe-draft", args=[draft.pk])
    signed_in.get(address)
    work(asked)
    assert "Being computed" not in page_text(signed_in.get(address))
    published_recipe(**ASKED)
    refused = publish(signed_in, draft)
    assert (refused.status_code, Recipe.Status.DRAFT) == (422, Recipe.objects.get(pk=draft.pk).status)
    assert "is being computed; try again" in page_text(refused)
    work(asked)
    assert publish(signed_in, draft).status_code == 302

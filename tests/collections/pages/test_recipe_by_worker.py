"""What a single recipe guarantees is computed by a worker where a request has no time for it."""

import json
from typing import Any

import pytest
from django.core.cache import caches
from django.test import Client
from django.urls import reverse

from ledger.operations import population_create
from pages.publish import views as publish_views
from panprivacy.accounting.composition import _composed, _roughly_composed
from panprivacy.accounting.remembered import epsilon_at, symmetric_loss_of
from planner import guarantees
from planner.tasks import compute_guarantees
from recipes.models import Recipe
from simulations.models import Simulation
from tests.factories import draft_recipe, recipe_members
from tests.page_text import page_text
from tests.patience import PATIENCE
from tests.scenes import account, analyst
from web import turns

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
    memory = "django.core.cache.backends.locmem.LocMemCache"
    own = {name: {"BACKEND": memory, "LOCATION": f"{name} here"} for name in ("plans", "composed")}
    settings.CACHES = {**settings.CACHES, **own}
    for name in own:
        caches[name].clear()
    for kept in (symmetric_loss_of, epsilon_at, _composed, _roughly_composed):
        kept.cache_clear()


@pytest.fixture(autouse=True)
def sent(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Tasks that would have been sent by requests that have no time for anything: their arguments."""
    tasks: list[Any] = []
    monkeypatch.setattr(guarantees, "REQUEST_SECONDS", -1.0)
    monkeypatch.setattr(
        guarantees, "task_send", lambda _, *arguments: tasks.append(json.loads(json.dumps(arguments)))
    )
    return tasks


@pytest.fixture
def publisher(client: Client) -> Client:
    client.force_login(analyst())
    return client


def test_page_of_a_draft_says_that_it_is_computed_and_asks_again_without_scripts(
    publisher: Client, sent: list[Any]
) -> None:
    address = reverse("recipe-draft", args=[draft_recipe(**ASKED).pk])
    waiting = publisher.get(address)
    assert waiting.headers["Refresh"] == "3"
    assert "Being computed" in page_text(waiting)
    assert "On how many devices did it crash?" in page_text(waiting)
    assert "disabled" in waiting.content.decode()
    compute_guarantees(*sent[0])
    found = publisher.get(address)
    assert "Refresh" not in found.headers
    assert found.context["guarantees"]
    assert found.context["publishable"]
    assert len(sent) == 1


def test_draft_is_published_only_when_its_guarantees_are_there(publisher: Client, sent: list[Any]) -> None:
    draft = draft_recipe(**ASKED)
    address, reviewed = reverse("recipe-publish", args=[draft.pk]), {"reviewed": draft.draft_hash}
    refused = publisher.post(address, reviewed)
    assert refused.status_code == 422
    assert "Refresh" not in refused.headers, "it would ask for an address that takes posts only"
    assert "is being computed; try again" in page_text(refused)
    draft.refresh_from_db()
    assert draft.status == Recipe.Status.DRAFT
    compute_guarantees(*sent[0])
    assert publisher.post(address, reviewed).status_code == 302
    draft.refresh_from_db()
    assert draft.status == Recipe.Status.PUBLISHED


def test_programs_are_told_to_ask_again(publisher: Client, sent: list[Any]) -> None:
    draft = draft_recipe(**ASKED)
    requests = [
        ("get", f"/api/v1/recipes/drafts/{draft.pk}/review/", {}),
        ("post", "/api/v1/recipes/review/", recipe_members(**ASKED)),
        ("post", f"/api/v1/recipes/{draft.pk}/publish/", {"reviewed": draft.draft_hash}),
    ]

    def answers() -> list[Any]:
        return [
            getattr(publisher, method)(path, members, content_type="application/json")
            for method, path, members in requests
        ]

    for answer in answers():
        assert (answer.status_code, answer.json()["type"].rsplit("/", 1)[-1]) == (503, "unavailable")
        assert "is being computed" in answer.json()["detail"]
        assert int(answer.headers["Retry-After"]) > 0
    assert len(sent) == 1
    compute_guarantees(*sent[0])
    assert [answer.status_code for answer in answers()] == [200, 200, 200]


def test_simulation_waits_for_the_guarantees_that_its_recipe_states(
    publisher: Client, sent: list[Any], settings: Any
) -> None:
    settings.SITE_URL = "http://site.example"
    asked = {
        "recipe": recipe_members(**ASKED),
        "workload": {"kind": "bernoulli", "rate": 0.2, "devices": 30},
    }

    def start() -> Any:
        return publisher.post("/api/v1/simulations/", asked, content_type="application/json")

    refused = start()
    assert (refused.status_code, Simulation.objects.count()) == (503, 0)
    compute_guarantees(*sent[0])
    assert start().status_code == 202


def test_nobody_approves_before_the_guarantees_are_there(publisher: Client, sent: list[Any]) -> None:
    population_create(name="pilots", description="", budget=None, actor=None, four_eyes=True)
    draft = draft_recipe(population="pilots", **ASKED)
    address = reverse("recipe-approval", args=[draft.pk])
    publisher.post(address, {"decision": "ask", "reviewed": draft.draft_hash})
    publisher.force_login(account("bea", "Analysts"))
    waiting = publisher.get(reverse("recipe-draft", args=[draft.pk]))
    assert "Being computed" in page_text(waiting)
    assert 'value="approve"' not in waiting.content.decode()
    compute_guarantees(*sent[0])
    assert 'value="approve"' in publisher.get(reverse("recipe-draft", args=[draft.pk])).content.decode()


def test_form_says_that_its_promise_takes_longer_than_it_waits_or_that_too_many_compute(
    publisher: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = f"{reverse('recipe-promise')}?statistic=count_nonzero"
    values = {"steps": 3, "epsilon": 1.7, "delta": 1e-6, "cohort_size": 777, "population": "everyone"}
    monkeypatch.setattr(publish_views, "PROMISE_SECONDS", -1.0)
    assert "longer than a form waits" in page_text(publisher.post(address, values))
    monkeypatch.setattr(turns, "WAIT_SECONDS", 0)
    with turns.turn(), turns.turn():
        assert "Too much is being computed already" in page_text(publisher.post(address, values))
    monkeypatch.setattr(publish_views, "PROMISE_SECONDS", PATIENCE)
    assert "Someone who" in page_text(publisher.post(address, values))

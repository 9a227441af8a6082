"""`/api/v1/simulations/`: who may, what is answered, and what is refused how."""

import json
from types import SimpleNamespace
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from aggregation.operations import chunk_process, chunks_plan
from panapp.collection import CollectionStalledError, _wait_for_release
from recipes.models import Recipe
from releases import rates
from releases.operations import result_release
from simulations.api import EXAMPLE
from simulations.models import Simulation
from simulations.operations import chunk_run, chunks_take
from simulations.selectors import HELD
from tests.collections.simulations.site import Site
from tests.collections.simulations.test_simulations import released
from tests.factories import recipe_members
from tests.page_text import page_text
from tests.scenes import analyst, auditor

pytestmark = pytest.mark.django_db

START = "/api/v1/simulations/"
BODY = {
    "recipe": recipe_members(),
    "workload": {"kind": "poisson", "devices": 30, "rate": 0.1},
    "seed": 7,
}


@pytest.fixture(autouse=True)
def _address(settings: Any) -> None:
    settings.SITE_URL = "http://localhost"


@pytest.fixture
def client() -> Client:
    client = Client()
    client.force_login(analyst())
    return client


def post(client: Client, body: object, **options: Any) -> Any:
    content = body if isinstance(body, str | bytes) else json.dumps(body)
    return client.post(START, content, content_type="application/json", **options)


def test_start_answers_202_with_an_address_that_tells_how_far_it_is(client: Client) -> None:
    answer = post(client, BODY)
    assert answer.status_code == 202
    address = answer.headers["Location"]
    told = client.get(address).json()
    assert told == answer.json()
    assert (told["state"], told["done"], told["devices"]) == ("running", 0, 30)
    assert (told["seconds_left"], told["result"], told["problem"]) == (None, None, None)
    simulation = Simulation.objects.get()
    for chunk in chunks_take(simulation=simulation):
        chunk_run(chunk=chunk, transport=Site())
    assert client.get(address).json()["state"] == "summing"
    simulation.refresh_from_db()
    released(simulation)
    told = client.get(address).json()
    assert (told["state"], told["done"]) == ("finished", 30)
    assert told["result"]["recipe"] == told["recipe"]
    assert told["result"]["devices"] == 30


def test_held_result_of_a_simulation_is_shown_until_decided(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More reports than tokens: as of real devices, an administrator decides."""
    monkeypatch.setattr(rates, "has_tokens", lambda recipe: True)
    monkeypatch.setattr(rates, "issued_of", lambda recipe: 20)
    address = post(client, BODY).headers["Location"]
    simulation = Simulation.objects.get()
    for chunk in chunks_take(simulation=simulation):
        chunk_run(chunk=chunk, transport=Site())
    recipe = Recipe.objects.get()
    for chunk in chunks_plan(recipe=recipe):
        chunk_process(chunk=chunk)
    assert result_release(recipe=recipe) is None
    told = client.get(address).json()
    assert (told["state"], told["problem"]) == ("summing", HELD)
    page = page_text(client.get(reverse("simulation", args=[simulation.pk])))
    assert "The result is held" in page
    running = SimpleNamespace(check=lambda: None)
    with pytest.raises(CollectionStalledError, match="held"):
        _wait_for_release("reports", recipe, running, lambda _: None)
    assert client.delete(address).json()["problem"] is None


def test_time_left_follows_the_speed_so_far(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("simulations.operations.CHUNK_DEVICES", 10)
    address = post(client, BODY).headers["Location"]
    chunk_run(chunk=chunks_take(simulation=Simulation.objects.get())[0], transport=Site())
    told = client.get(address).json()
    assert told["done"] == 10
    assert told["seconds_left"] >= 0


def test_delete_cancels_and_a_second_one_changes_nothing(client: Client) -> None:
    address = post(client, BODY).headers["Location"]
    for _ in range(2):
        answer = client.delete(address)
        assert (answer.status_code, answer.json()["state"]) == (200, "cancelled")


def test_finished_simulation_is_not_cancelled(client: Client) -> None:
    address = post(client, BODY).headers["Location"]
    simulation = Simulation.objects.get()
    for chunk in chunks_take(simulation=simulation):
        chunk_run(chunk=chunk, transport=Site())
    simulation.refresh_from_db()
    released(simulation)
    answer = client.delete(address)
    assert (answer.status_code, answer.json()["type"]) == (409, "/problems/simulation-refused")


def test_example_of_the_documentation_is_accepted(client: Client) -> None:
    assert post(client, EXAMPLE).status_code == 202


@pytest.mark.parametrize("signed_in", [False, True])
def test_others_than_analysts_are_refused_everywhere(signed_in: bool, client: Client) -> None:
    address = post(client, BODY).headers["Location"]
    other = Client()
    if signed_in:
        other.force_login(auditor())
    for answer in (post(other, BODY), other.get(address), other.delete(address)):
        assert answer.status_code == (403 if signed_in else 401)
        assert answer.headers["Content-Type"] == "application/problem+json"
    assert Simulation.objects.get().state == "running"


def test_page_of_another_site_cannot_start_one() -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(analyst())
    assert post(client, BODY).status_code == 403
    assert not Simulation.objects.exists()


@pytest.mark.parametrize(
    ("body", "status", "field"),
    [
        ("{", 400, None),
        ("[]", 400, None),
        (b"\xff", 400, None),
        ("[" * 100_000, 400, None),
        ({**BODY, "more": 1}, 400, "more"),
        ('{"recipe": {}, "recipe": {}, "workload": {}}', 400, "recipe"),
        ("", 400, "recipe"),
        ({"recipe": {}}, 400, "workload"),
        ({"recipe": 5, "workload": {}}, 400, "recipe"),
        ({"recipe": {}, "workload": {}}, 400, "statistic"),
        ({**BODY, "seed": "x"}, 400, "seed"),
        ({**BODY, "workload": {"kind": "\ud800"}}, 400, "workload.kind"),
        ({**BODY, "workload": {"kind": "events", "csv": 7}}, 400, "workload.csv"),
        ({**BODY, "recipe": recipe_members(trust="two_server")}, 400, "trust"),
        ({**BODY, "recipe": recipe_members(population="nobody")}, 400, "population"),
    ],
)
def test_body_that_cannot_be_used_is_refused_by_field(
    client: Client, body: object, status: int, field: str | None
) -> None:
    answer = post(client, body)
    assert answer.status_code == status
    assert answer.json().get("field") == field
    assert not Simulation.objects.exists()


def test_body_that_is_too_large_or_no_json_is_refused(client: Client) -> None:
    assert post(client, "x" * (12 * 1024**2 + 1)).status_code == 413
    assert client.post(START, "a=b", content_type="application/x-www-form-urlencoded").status_code == 415


def test_site_without_an_address_says_so(client: Client, settings: Any) -> None:
    settings.SITE_URL = None
    answer = post(client, BODY)
    assert answer.status_code == 409
    assert "PANAPP_SITE_URL" in answer.json()["detail"]


def test_unknown_simulation_is_404(client: Client) -> None:
    address = reverse("api-simulation", args=["00000000-0000-0000-0000-000000000000"])
    assert client.get(address).status_code == 404

"""`/api/v1/simulations/`: who may, what is answered, and what is refused how."""

import json
from types import SimpleNamespace
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from results import rates
from results.operations import result_release
from simulations.api import EXAMPLE
from simulations.chunks import chunk_run, chunks_take
from simulations.collect.collection import CollectionStalledError, _wait_for_release
from simulations.models import Simulation
from simulations.selectors import HELD
from tests.collections.simulations.scene import Site, released, run, summed
from tests.factories import recipe_members
from tests.page_text import page_text
from tests.scenes import analyst

pytestmark = pytest.mark.django_db

START = "/api/v1/simulations/"
BODY = {"recipe": recipe_members(), "workload": {"kind": "poisson", "devices": 30, "rate": 0.1}, "seed": 7}


@pytest.fixture
def client() -> Client:
    client = Client()
    client.force_login(analyst())
    return client


def post(client: Client, body: object, **options: Any) -> Any:
    content = body if isinstance(body, str | bytes) else json.dumps(body)
    return client.post(START, content, content_type="application/json", **options)


def test_start_answers_202_with_an_address_that_tells_how_far_it_is(client: Client, site: Site) -> None:
    answer = post(client, BODY)
    assert answer.status_code == 202
    address = answer.headers["Location"]
    told = client.get(address).json()
    assert told == answer.json()
    assert (told["state"], told["done"], told["devices"]) == ("running", 0, 30)
    assert (told["seconds_left"], told["result"], told["problem"]) == (None, None, None)
    simulation = run(Simulation.objects.get(), site)
    assert client.get(address).json()["state"] == "summing"
    released(simulation)
    told = client.get(address).json()
    assert (told["state"], told["done"]) == ("finished", 30)
    assert told["result"]["recipe"] == told["recipe"]
    assert told["result"]["devices"] == 30
    # What is finished cannot be cancelled.
    refused = client.delete(address)
    assert (refused.status_code, refused.json()["type"]) == (409, "/problems/simulation-refused")


def test_held_result_of_a_simulation_is_shown(
    client: Client, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More reports than tokens: as of real devices, an administrator decides."""
    monkeypatch.setattr(rates, "has_tokens", lambda recipe: True)
    monkeypatch.setattr(rates, "issued_of", lambda recipe: 20)
    address = post(client, BODY).headers["Location"]
    simulation = run(Simulation.objects.get(), site)
    assert result_release(recipe=summed(simulation)) is None
    told = client.get(address).json()
    assert (told["state"], told["problem"]) == ("summing", HELD)
    page = page_text(client.get(reverse("simulation", args=[simulation.pk])))
    assert "The result is held" in page
    running: Any = SimpleNamespace(check=lambda: None)
    with pytest.raises(CollectionStalledError, match="held"):
        _wait_for_release(simulation, "reports", running, lambda _: None)
    assert client.delete(address).json()["problem"] is None


def test_time_left_follows_the_speed_so_far(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("simulations.chunk_sizes.CHUNK_DEVICES", 10)
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


def test_body_that_cannot_be_used_is_refused_by_field(client: Client) -> None:
    for body, field in (
        ("{", None),
        ("[]", None),
        (b"\xff", None),
        ("[" * 100_000, None),
        ({**BODY, "more": 1}, "more"),
        ('{"recipe": {}, "recipe": {}, "workload": {}}', "recipe"),
        ("", "recipe"),
        ({"recipe": {}}, "workload"),
        ({"recipe": 5, "workload": {}}, "recipe"),
        ({"recipe": {}, "workload": {}}, "statistic"),
        ({**BODY, "seed": "x"}, "seed"),
        ({**BODY, "workload": {"kind": "\ud800"}}, "workload.kind"),
        ({**BODY, "recipe": recipe_members(population="nowhere")}, "population"),
    ):
        answer = post(client, body)
        assert answer.status_code == 400
        assert answer.json().get("field") == field
    assert post(client, "x" * (12 * 1024**2 + 1)).status_code == 413
    assert client.post(START, "a=b", content_type="application/x-www-form-urlencoded").status_code == 415
    unknown = reverse("api-simulation", args=["00000000-0000-0000-0000-000000000000"])
    assert client.get(unknown).status_code == 404
    assert not Simulation.objects.exists()
    assert post(client, EXAMPLE).status_code == 202

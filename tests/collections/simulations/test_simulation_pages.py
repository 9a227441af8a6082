"""The pages on which recipes are simulated."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from recipes.models import Recipe
from recipes.operations import recipe_draft_save
from simulations.models import Simulation
from simulations.operations import chunk_run, chunks_take
from tests.collections.simulations.site import Site
from tests.collections.simulations.test_simulations import CSV, released
from tests.factories import draft_recipe, published_recipe, published_stream
from tests.page_text import page_text
from tests.panapp.scene import SHUFFLE_HISTOGRAM, shuffled_members
from tests.scenes import analyst, auditor

pytestmark = pytest.mark.django_db

FORM = {"kind": "bernoulli", "devices": "40", "rate": "0.2", "csv": "", "seed": ""}


@pytest.fixture(autouse=True)
def _address(settings: Any) -> None:
    settings.SITE_URL = "http://localhost"


@pytest.fixture
def client() -> Client:
    client = Client()
    client.force_login(analyst())
    return client


def address_of(recipe: Recipe) -> str:
    if recipe.status == Recipe.Status.DRAFT:
        return reverse("draft-simulate", args=[recipe.pk])
    return reverse("recipe-simulate", args=[recipe.identifier])


def started(client: Client, **changes: str) -> Simulation:
    answer = client.post(address_of(draft_recipe()), {**FORM, **changes})
    assert answer.status_code == 302, page_text(answer)
    simulation = Simulation.objects.get()
    assert answer["Location"] == reverse("simulation", args=[simulation.pk])
    return simulation


@pytest.mark.parametrize("make", [draft_recipe, published_recipe])
def test_draft_or_recipe_is_simulated_from_its_page(client: Client, make: Any) -> None:
    recipe = make()
    page = "recipe-draft" if recipe.status == "draft" else "recipe"
    key = recipe.pk if recipe.status == "draft" else recipe.identifier
    assert address_of(recipe) in client.get(reverse(page, args=[key])).content.decode()
    assert client.get(address_of(recipe)).status_code == 200
    answer = client.post(address_of(recipe), FORM)
    assert answer.status_code == 302
    copy = Simulation.objects.get().recipe
    assert (copy.pk != recipe.pk, copy.simulation) == (True, True)
    recipe.refresh_from_db()
    assert not recipe.simulation


def test_recipe_that_would_have_closed_already_is_simulated_all_the_same(client: Client) -> None:
    recipe = draft_recipe(opens_at="2020-01-01T00:00:00Z", closes_at="2020-02-01T00:00:00Z")
    assert client.post(address_of(recipe), FORM).status_code == 302


def test_page_shows_the_progress_and_in_the_end_estimate_truth_and_plan(client: Client) -> None:
    simulation = started(client, seed="7")
    address = reverse("simulation", args=[simulation.pk])
    page = client.get(address)
    assert "0 of 40 devices" in page_text(page)
    assert "every 2s" in page.content.decode()
    unchanged = client.get(address, {"shown": "running 0 "}, headers={"HX-Request": "true"})
    assert unchanged.status_code == 204
    for chunk in chunks_take(simulation=simulation):
        chunk_run(chunk=chunk, transport=Site())
    part = client.get(address, {"shown": "running 0 "}, headers={"HX-Request": "true"})
    assert "added up" in page_text(part)
    simulation.refresh_from_db()
    released(simulation)
    page = client.get(address)
    text = page_text(page)
    for said in ("Finished", "Planned: ±", "points (95%", "Truth", "40 reports accepted"):
        assert said in text
    assert "hx-get" not in page.content.decode()


def test_recipe_that_workers_simulate_links_to_its_devices(client: Client) -> None:
    simulation = started(client)
    page = client.get(reverse("recipe", args=[simulation.recipe.identifier])).content.decode()
    assert reverse("simulation", args=[simulation.pk]) in page
    assert (
        reverse("simulation", args=[simulation.pk])
        not in Client().get(reverse("recipe", args=[simulation.recipe.identifier])).content.decode()
    )


def test_cancelling_ends_it_and_says_so(client: Client) -> None:
    simulation = started(client)
    page = client.post(reverse("simulation-cancel", args=[simulation.pk]), follow=True)
    assert "Its reports are deleted." in page_text(page)
    simulation.refresh_from_db()
    assert simulation.state == "cancelled"


def test_pasted_file_is_simulated(client: Client) -> None:
    simulation = started(client, kind="events", csv=CSV.replace("\n", "\r\n"))
    page = reverse("simulation", args=[simulation.pk])
    assert "Its file is being read." in page_text(client.get(page))
    _run(simulation)
    assert Simulation.objects.get().devices == 30


def test_page_says_which_line_of_a_file_was_refused(client: Client) -> None:
    simulation = started(client, kind="events", csv="device,step,events\nd,9,1\n")
    _run(simulation)
    page = page_text(client.get(reverse("simulation", args=[simulation.pk])))
    assert "Failed" in page
    assert "Workload.csv: line 2, column 2" in page


def _run(simulation: Simulation) -> None:
    for chunk in chunks_take(simulation=simulation):
        chunk_run(chunk=chunk, transport=Site())


def test_sizes_of_segments_are_asked_for_where_there_are_some(client: Client) -> None:
    assert "Sizes of the segments" not in page_text(client.get(address_of(draft_recipe())))
    address = address_of(draft_recipe(segments=["2.0", "2.1"]))
    assert "The order is 2.0, 2.1." in page_text(client.get(address))
    refused = client.post(address, {**FORM, "weights": "9, x"})
    assert "Must be a number of at least 0 and at most 1,000,000,000, not" in page_text(refused)
    assert client.post(address, {**FORM, "weights": "9, 1"}).status_code == 302
    assert Simulation.objects.get().workload["weights"] == [9.0, 1.0]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"devices": "1000001"}, "Must be from 1 to 1,000,000."),
        ({"devices": ""}, "Must be a whole number"),
        ({"rate": "2"}, "at most 1"),
        ({"rate": "x"}, "Enter a number."),
        ({"seed": "-1"}, "greater than or equal to 0"),
        ({"kind": "flights"}, "31 steps"),
        ({"kind": "values"}, "Select a valid choice."),
    ],
)
def test_form_that_is_refused_says_at_the_field_what_is_allowed(
    client: Client, changes: dict[str, str], said: str
) -> None:
    answer = client.post(address_of(draft_recipe()), {**FORM, **changes})
    assert answer.status_code == 422
    assert said in page_text(answer)
    assert not Simulation.objects.exists()


def test_site_without_an_address_says_what_to_set(client: Client, settings: Any) -> None:
    settings.SITE_URL = None
    answer = client.post(address_of(draft_recipe()), FORM)
    assert answer.status_code == 422
    assert "PANAPP_SITE_URL" in page_text(answer)


def test_stream_has_no_devices_to_simulate(client: Client) -> None:
    recipe = published_stream(closes_at=timezone.now().replace(year=2040).strftime("%Y-%m-%dT%H:%M:%SZ"))
    assert address_of(recipe) not in client.get(reverse("recipe", args=[recipe.identifier])).content.decode()
    assert "cannot be simulated" in page_text(client.get(address_of(recipe), follow=True))


def test_others_than_analysts_see_nothing_of_it(client: Client) -> None:
    simulation = started(client)
    other = Client()
    other.force_login(auditor())
    recipe = published_recipe()
    assert address_of(recipe) not in other.get(reverse("recipe", args=[recipe.identifier])).content.decode()
    for answer in (
        other.get(address_of(recipe)),
        other.post(address_of(recipe), FORM),
        other.get(reverse("simulation", args=[simulation.pk])),
        other.post(reverse("simulation-cancel", args=[simulation.pk])),
    ):
        assert answer.status_code == 403
    simulation.refresh_from_db()
    assert simulation.state == "running"


def test_recipe_with_a_shuffler_offers_values_and_says_where_no_shuffler_is_set_up(client: Client) -> None:
    recipe = recipe_draft_save(members=shuffled_members(SHUFFLE_HISTOGRAM), actor=None)
    page = client.get(address_of(recipe)).content.decode()
    assert "device,value" in page
    assert "id_rate" not in page
    answer = client.post(address_of(recipe), {"kind": "flights", "csv": "", "seed": ""})
    assert answer.status_code == 422
    assert "trust: cannot be shuffler here: no shuffler is set up" in page_text(answer)


def test_file_of_vectors_has_a_column_for_each_coordinate_and_no_aircraft_has_one(client: Client) -> None:
    recipe = draft_recipe(statistic="vector_mean", steps=None, dimension=20, trust="two_server")
    page = page_text(client.get(address_of(recipe)))
    assert "Its header is device,x1,…,x20; at most" in page
    assert "Aircraft" not in page
    assert "Its header is device,step,events; at most" in page_text(client.get(address_of(draft_recipe())))

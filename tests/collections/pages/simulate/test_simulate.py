"""The pages on which recipes are simulated."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from recipes.models import Recipe
from recipes.operations import recipe_draft_save
from simulations.models import Simulation
from tests.collections.simulations.conftest import _address  # noqa: F401  # for every test
from tests.collections.simulations.scene import CSV, Site, released, run
from tests.factories import draft_recipe, published_recipe, published_stream
from tests.page_text import page_text
from tests.panapp.scene import SHUFFLE_HISTOGRAM, shuffled_members
from tests.scenes import analyst, auditor

pytestmark = pytest.mark.django_db

FORM = {"kind": "bernoulli", "devices": "40", "rate": "0.2", "csv": "", "seed": ""}


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


@pytest.mark.parametrize(
    ("make", "page", "key"),
    [(draft_recipe, "recipe-draft", "pk"), (published_recipe, "recipe", "identifier")],
)
def test_draft_or_recipe_is_simulated_from_its_page(client: Client, make: Any, page: str, key: str) -> None:
    recipe = make()
    assert address_of(recipe) in client.get(reverse(page, args=[getattr(recipe, key)])).content.decode()
    assert client.get(address_of(recipe)).status_code == 200
    assert client.post(address_of(recipe), FORM).status_code == 302
    copy = Simulation.objects.get().recipe
    assert (copy.pk != recipe.pk, copy.simulation) == (True, True)
    recipe.refresh_from_db()
    assert not recipe.simulation
    # One that would have closed already is simulated, too.
    late = draft_recipe(opens_at="2020-01-01T00:00:00Z", closes_at="2020-02-01T00:00:00Z")
    assert client.post(address_of(late), FORM).status_code == 302


def test_page_shows_the_progress_and_in_the_end_estimate_truth_and_plan(client: Client) -> None:
    simulation = started(client, seed="7")
    address = reverse("simulation", args=[simulation.pk])
    page = client.get(address)
    assert "0 of 40 devices" in page_text(page)
    assert "every 2s" in page.content.decode()
    unchanged = client.get(address, {"shown": "running 0 0 40 "}, headers={"HX-Request": "true"})
    assert unchanged.status_code == 204
    run(simulation, Site())
    part = client.get(address, {"shown": "running 0 0 40 "}, headers={"HX-Request": "true"})
    assert "added up" in page_text(part)
    released(simulation)
    page = client.get(address)
    text = page_text(page)
    for said in ("Finished", "Planned: ±", "points (95%", "Truth", "40 reports accepted"):
        assert said in text
    assert "hx-get" not in page.content.decode()


@pytest.mark.parametrize(
    ("csv", "devices", "said"),
    [(CSV, 30, "added up"), ("device,step,events\nd,9,1\n", 0, "Workload.csv: line 2, column 2")],
)
def test_pasted_file_is_simulated_or_its_fault_named(
    client: Client, csv: str, devices: int, said: str
) -> None:
    simulation = started(client, kind="events", csv=csv.replace("\n", "\r\n"))
    page = reverse("simulation", args=[simulation.pk])
    assert "Its file is being read." in page_text(client.get(page))
    run(simulation, Site())
    assert simulation.devices == devices
    assert said in page_text(client.get(page))


def test_sizes_of_segments_are_asked_for_where_there_are_some(client: Client) -> None:
    assert "Sizes of the segments" not in page_text(client.get(address_of(draft_recipe())))
    address = address_of(draft_recipe(segments=["2.0", "2.1"]))
    assert "The order is 2.0, 2.1." in page_text(client.get(address))
    refused = client.post(address, {**FORM, "weights": "9, x"})
    assert "Must be a number of at least 0 and at most 1,000,000,000, not" in page_text(refused)
    assert client.post(address, {**FORM, "weights": "9, 1"}).status_code == 302
    assert Simulation.objects.get().workload["weights"] == [9.0, 1.0]


def test_form_that_is_refused_says_at_the_field_what_is_allowed(client: Client, settings: Any) -> None:
    address = address_of(draft_recipe())

    def refused(**changes: str) -> str:
        answer = client.post(address, {**FORM, **changes})
        assert answer.status_code == 422
        return page_text(answer)

    for changes, said in (
        ({"devices": "1000001"}, "Must be from 1 to 1,000,000."),
        ({"devices": ""}, "This field is required."),
        ({"rate": "2"}, "from 0 to 1"),
        ({"rate": "x"}, "Enter a number."),
        ({"seed": "-1"}, "greater than or equal to 0"),
        ({"kind": "flights"}, "31 steps"),
        ({"kind": "values"}, "Select a valid choice."),
    ):
        assert said in refused(**changes)
    settings.SITE_URL = None
    assert "PANAPP_SITE_URL" in refused()
    assert not Simulation.objects.exists()


def test_only_analysts_follow_and_cancel_it(client: Client) -> None:
    simulation = started(client)
    other = Client()
    other.force_login(auditor())
    recipe = published_recipe()
    assert address_of(recipe) not in other.get(reverse("recipe", args=[recipe.identifier])).content.decode()
    of_simulated = reverse("recipe", args=[simulation.recipe.identifier])
    follow, cancel = (reverse(name, args=[simulation.pk]) for name in ("simulation", "simulation-cancel"))
    for answer in (
        other.get(address_of(recipe)),
        other.post(address_of(recipe), FORM),
        other.get(follow),
        other.post(cancel),
    ):
        assert answer.status_code == 403
    simulation.refresh_from_db()
    assert simulation.state == "running"
    assert follow not in other.get(of_simulated).content.decode()
    assert follow in client.get(of_simulated).content.decode()
    assert "Its reports are deleted." in page_text(client.post(cancel, follow=True))
    simulation.refresh_from_db()
    assert simulation.state == "cancelled"


def test_page_describes_the_file_that_a_recipe_takes(client: Client) -> None:
    page = page_text(client.get(address_of(draft_recipe()), {"kind": "events"}))
    assert "Its header is device,step,events; at most" in page
    vectors = draft_recipe(statistic="vector_mean", steps=None, dimension=20, trust="two_server")
    page = page_text(client.get(address_of(vectors), {"kind": "values"}))
    assert "Its header is device,x1,…,x20; at most" in page
    assert "Aircraft" not in page
    shuffled = recipe_draft_save(members=shuffled_members(SHUFFLE_HISTOGRAM), actor=None)
    page = page_text(client.get(address_of(shuffled), {"kind": "values"}))
    assert "device,value" in page
    assert "id_rate" not in page
    answer = client.post(address_of(shuffled), {"kind": "flights", "csv": "", "seed": ""})
    assert answer.status_code == 422
    (refusal,) = answer.context["form"].non_field_errors()
    assert refusal.startswith("trust: cannot be shuffler here: no shuffler is set up")
    # A stream has no devices to simulate.
    stream = published_stream(closes_at="2040-01-01T00:00:00Z")
    assert address_of(stream) not in client.get(reverse("recipe", args=[stream.identifier])).content.decode()
    assert "cannot be simulated" in page_text(client.get(address_of(stream), follow=True))

"""A new statistic is one file and one line of a registry: toys of every kind go the whole way.

Nothing of the product knows them. What they estimate is compared exactly, where the test chooses what is
decrypted; with noise, by a bound whose failure probability is stated.
"""

import importlib.util
from typing import Any

import pytest
from django.test import Client
from django.urls import path, reverse
from drf_spectacular.generators import SchemaGenerator

import planner.api
from panprivacy.catalogue import STATISTICS, statistic_class
from panprivacy.device_input import DeviceInput
from recipes.models import Recipe
from tests.collections.analyzer.scene import fill, settle
from tests.collections.streams.scene import fold
from tests.factories import as_json, published_recipe, report_of_values
from tests.scenes import closed_stream, finish
from tests.toys.events import ToyEvents
from tests.toys.fleet import collected
from tests.toys.items import ToyItems
from tests.toys.value import ToyValue
from tests.toys.walk import filled_in, publish_by_form, result_of, text_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("_toys", "_with_shuffler")]

TOYS = {toy.device_input: toy for toy in (ToyEvents, ToyValue, ToyItems)}

EVERY_KIND = pytest.mark.parametrize("toy", [TOYS[kind] for kind in DeviceInput], ids=list(DeviceInput))


@EVERY_KIND
def test_toy_of_every_kind_is_offered_and_previewed_with_what_it_promises(
    signed_in: Client, toy: Any
) -> None:
    assert STATISTICS[toy.statistic] is statistic_class(toy.statistic) is toy
    choices = text_of(signed_in.get(reverse("recipe-new")))
    assert f"?statistic={toy.statistic}" in choices
    assert toy.title in choices
    assert toy.description in choices
    page = text_of(signed_in.get(f"{reverse('recipe-new')}?statistic={toy.statistic}"))
    for said in (toy.title, "What to expect", "What is promised"):
        assert said in page
    data = filled_in(signed_in, toy.statistic)
    preview = text_of(signed_in.post(f"{reverse('recipe-preview')}?statistic={toy.statistic}", data))
    assert toy.unit in preview
    assert "± " in preview
    promise = text_of(signed_in.post(f"{reverse('recipe-promise')}?statistic={toy.statistic}", data))
    assert "Effect on the budget" in promise
    assert "could not be published" not in promise
    refused = signed_in.post(
        f"{reverse('recipe-new')}?statistic={toy.statistic}", {**data, "epsilon": "1000"}
    )
    assert refused.status_code == 422
    assert "epsilon" in refused.context["form"].errors


def test_toy_of_events_goes_from_the_form_to_the_result(signed_in: Client) -> None:
    recipe = publish_by_form(signed_in, "toy_events", cohort_size=4, counted="quiet")
    assert "Devices counted" in text_of(signed_in.get(reverse("recipe", args=[recipe.identifier])))
    assert recipe.published.document["counted"] == "quiet"
    for bit in (1, 1, 1, 0):
        report = as_json(report_of_values(recipe, [bit]))
        sent_to = reverse("api-report", args=[recipe.identifier])
        assert signed_in.post(sent_to, report, content_type="application/json").status_code == 201
    result = result_of(signed_in, finish(recipe))
    keep = ToyEvents(recipe.published.parameters).response.keep_probability
    assert result["estimate"] == pytest.approx([2 - 1 / keep])  # 4 − (3 − 4·(1 − keep)/2)/keep
    assert result["labels"] == ["toys"]
    page = text_of(signed_in.get(reverse("recipe", args=[recipe.identifier])))
    assert "Toy box" in page
    assert "Includes the coins of toys." in page


def test_toy_of_values_goes_from_the_form_to_the_result(signed_in: Client) -> None:
    recipe = publish_by_form(signed_in, "toy_value", cohort_size=3, k=2)
    total = fill(recipe, [0, 0, 1])
    assert sum(total) == 3
    settle()
    result = result_of(signed_in, Recipe.objects.get())
    assert result["estimate"] == list(ToyValue(recipe.published.parameters).estimate(total, 3).values)
    assert result["reports"] == 3


def test_toy_of_items_goes_from_the_form_to_the_result(signed_in: Client) -> None:
    recipe = publish_by_form(signed_in, "toy_items", items="numbered", universe_size=10, table_size=10)
    assert "which starts at a random number" in text_of(
        signed_in.get(reverse("recipe", args=[recipe.identifier]))
    )
    fold(recipe, ["1", "2"] * 500)
    result = result_of(signed_in, closed_stream(recipe))
    parameters = recipe.published.parameters
    # Exceeded with a probability of at most 1e-6.
    bound = parameters.noise.error_bound(0, 1e-6)
    assert abs(result["estimate"][0] - 1_000) <= bound


def test_toy_of_events_is_collected_from_a_fleet_of_devices() -> None:
    members = {"name": "Toys", "question": "How many toys?", "steps": 3, "epsilon": 10.0, "delta": 1e-6}
    recipe = published_recipe(statistic="toy_events", cohort_size=4, simulation=True, **members)
    devices = {"bear": {1, 3}, "car": set(), "doll": {2}, "kite": set(), "top": {1}}

    fleet = collected(recipe, devices)
    assert fleet.accepted == 5
    assert ToyEvents(recipe.published.parameters).truth(fleet.devices_by_answer) == (3.0,)
    # The seed repeats all coins: with this one, none of five flips, each of which does with 5e-5.
    assert finish(recipe).release.values == pytest.approx([3.0], abs=1e-3)


def test_toy_of_events_is_planned_on_the_page_and_over_the_api(client: Client, sent: list[Any]) -> None:
    page = text_of(client.get(f"{reverse('plan')}?statistic=toy_events"))
    assert ToyEvents.title in page
    assert "Expect ±" in page
    question = {
        "statistic": "toy_events",
        "parameters": {"steps": 7, "epsilon": 1.0, "delta": 1e-6, "cohort_size": 1000, "counted": "quiet"},
        "population_size": 10_000,
        "unknown": "epsilon",
        "targets": {"margin": 2.0},
    }
    answer = client.post("/api/v1/plan", question, content_type="application/json")
    assert answer.status_code in (200, 202)
    solution = answer.json()["solution"]
    assert solution["found"]
    assert solution["closest"]["parameters"]["counted"] == "quiet"
    assert solution["expectation"]["margin_points"] <= 2.0


def test_toy_of_events_stands_in_the_description_of_the_api() -> None:
    # As a process describes it that starts with the toy in the registry.
    spec = importlib.util.spec_from_file_location("planner_api_with_a_toy", planner.api.__file__)
    assert spec is not None
    assert spec.loader is not None
    started = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(started)
    generator = SchemaGenerator(patterns=[path("plan", started.PlanApiView.as_view())])
    schemas = generator.get_schema(public=True)["components"]["schemas"]
    described = schemas["Question"]["properties"]["statistic"]
    names = described.get("enum") or schemas[described["$ref"].rsplit("/", 1)[1]]["enum"]
    assert "toy_events" in names

"""A new statistic is one file and one line of a registry: every type of toy runs from publishing to result.

Nothing of the product knows them. What they estimate is compared exactly, if the test chooses what is
decrypted; with noise, by a bound whose failure probability is stated.
"""

import json
import random
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from panprivacy.device.items import send_items
from panprivacy.statistics.catalogue import STATISTICS, statistic_class
from panprivacy.statistics.device_input import DeviceInput
from recipes.models import Recipe
from tests import tables
from tests.collections.shuffle.analyzer.scene import fill, settle
from tests.factories import as_json, report_of_values
from tests.scenes import closed_stream, finish
from tests.toys.collecting import collected, transport
from tests.toys.events import ToyEvents
from tests.toys.items import ToyItems
from tests.toys.randomized import ToyRandomized
from tests.toys.value import ToyValue
from tests.toys.walk import filled_in, publish_by_form, result_of, tab_of, text_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("_toys", "_with_shuffler")]

DESCRIPTION = {"name": "Toys", "question": "How many toys?"}
"""What people read of a recipe."""

TOYS = {toy.device_input: toy for toy in (ToyEvents, ToyRandomized, ToyValue, ToyItems)}

EVERY_KIND = pytest.mark.parametrize("toy", [TOYS[kind] for kind in DeviceInput], ids=list(DeviceInput))


@EVERY_KIND
def test_toy_of_every_kind_is_offered_previewed_and_listed_in_the_docs(signed_in: Client, toy: Any) -> None:
    assert STATISTICS[toy.statistic] is statistic_class(toy.statistic) is toy
    choices = text_of(signed_in.get(reverse("recipe-new")))
    assert f"?statistic={toy.statistic}" in choices
    assert toy.title in choices
    assert toy.description in choices
    page = text_of(signed_in.get(f"{reverse('recipe-new')}?statistic={toy.statistic}"))
    for text in (toy.title, "What to expect", "What is promised"):
        assert text in page
    data = filled_in(signed_in, toy.statistic)
    preview = text_of(signed_in.post(f"{reverse('recipe-preview')}?statistic={toy.statistic}", data))
    assert toy.unit in preview
    assert "± " in preview
    promise = text_of(signed_in.post(f"{reverse('recipe-promise')}?statistic={toy.statistic}", data))
    assert "Effect on the budget" in promise
    assert "could not be published" not in promise
    assert f"| `{toy.statistic}` | {toy.description} |" in tables.statistics()
    refused = signed_in.post(
        f"{reverse('recipe-new')}?statistic={toy.statistic}", {**data, "epsilon": "1000"}
    )
    assert refused.status_code == 422
    assert "epsilon" in refused.context["form"].errors


def test_toy_that_devices_randomize_goes_from_the_file_to_the_page(
    signed_in: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # With this ε, one of three coins would flip with a probability of 6e-9; the seed repeats all of them.
    members = {**DESCRIPTION, "statistic": "toy_randomized", "epsilon": 20.0, "delta": 1e-6, "cohort_size": 3}
    rows = "device,squeaks\nbear,yes\ncar,no\nduck,yes\n"
    printed = collected(tmp_path, monkeypatch, members, "values", rows)
    assert printed["reports"] == {"accepted": 3, "rejected": {}}
    assert printed["estimate"] == pytest.approx(printed["truth"], abs=1e-6)
    assert printed["truth"] == 2
    assert printed["robustness"]["sentence"] == "A toy squeaks once or not at all."
    page = text_of(signed_in.get(reverse("recipe-privacy", args=[printed["recipe"]])))
    assert "A toy squeaks once or not at all." in page
    answer = signed_in.get(reverse("api-result", args=[printed["recipe"]]))
    document = json.loads(b"".join(answer.streaming_content))
    assert document["robustness"] == printed["robustness"]


def test_toy_of_events_goes_from_the_form_to_the_result(signed_in: Client) -> None:
    recipe = publish_by_form(signed_in, "toy_events", cohort_size=4, counted="quiet")
    assert "Devices counted" in tab_of(signed_in, recipe, "recipe-privacy")
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
    assert "which starts at a random number" in tab_of(signed_in, recipe, "recipe-privacy")
    send_items(["1", "2"] * 500, str(recipe.identifier), transport(), random.Random(7))
    result = result_of(signed_in, closed_stream(recipe))
    parameters = recipe.published.parameters
    # Exceeded with a probability of at most 1e-6.
    bound = parameters.noise.error_bound(0, 1e-6)
    assert abs(result["estimate"][0] - 1_000) <= bound


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


@pytest.mark.parametrize("toy", [ToyValue, ToyItems])
def test_toy_that_cannot_be_planned_says_why_and_leads_to_its_form(client: Client, toy: Any) -> None:
    form = f'href="{reverse("recipe-new")}?statistic={toy.statistic}"'
    page = text_of(client.get(f"{reverse('plan')}?statistic={toy.statistic}"))
    assert f"“{toy.title}” cannot be planned: {toy.planning_obstacle}. Its <a {form}>form</a>" in page
    assert "Expect ±" not in page
    assert client.get(f"{reverse('plan-rest')}?statistic={toy.statistic}").status_code == 404
    # The page of those that can be planned names the others.
    other = text_of(client.get(reverse("plan")))
    assert "Other statistics cannot be planned. Their forms show the error" in other
    assert f"<a {form}>{toy.title}</a>" in other

    question = {"statistic": toy.statistic, "parameters": {}, "population_size": 1}
    answer = client.post("/api/v1/plan", question, content_type="application/json")
    assert answer.status_code == 400
    assert answer.json()["field"] == "statistic"
    detail = (
        f"cannot be {toy.statistic}: {toy.planning_obstacle}. The form of a new recipe shows what to expect."
    )
    assert answer.json()["detail"].endswith(detail)

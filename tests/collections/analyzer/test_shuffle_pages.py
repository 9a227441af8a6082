import csv
import io
import json
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from recipes.models import Recipe
from tests.collections.analyzer.scene import ORIGIN, fill, settle, shuffle_recipe
from tests.page_text import page_text
from tests.scenes import analyst
from trust_models.publishing import recipe_close

pytestmark = pytest.mark.django_db


def finished(values: list[int], **changes: Any) -> Recipe:
    recipe = shuffle_recipe(simulation=False, **{"cohort_size": len(values), **changes})
    fill(recipe, values)
    settle()
    return Recipe.objects.get(pk=recipe.pk)


def page_of(client: Client, recipe: Recipe, name: str = "recipe") -> str:
    response = client.get(reverse(name, args=[recipe.identifier]))
    assert response.status_code == 200
    return page_text(response)


def test_open_recipe_says_who_learns_what_and_how_to_take_part_through_the_shuffler(client: Client) -> None:
    recipe = shuffle_recipe(simulation=False)
    page = page_of(client, recipe)
    for said in (
        "The shuffler and this server together, or this server where it reads what devices send there",
        "as this server does, gets from 50% sure (a coin toss) to at most 82% sure of a guess about one",
        "If 50% of the devices collude",
        "send-value",
        recipe.published.document["shuffler"]["verification_key"],
        f'href="{ORIGIN}/"',
        "<code>shuffler_signature</code>",
        "it cannot read messages",
        "How devices encrypt their messages to this server.",
    ):
        assert said in page
    for untold in (
        "what they keep",
        "Seconds per step",
        "helper",
        "devices_sim join",
        "What is kept of the items",
    ):
        assert untold not in page


def test_released_recipe_counts_devices_not_messages(client: Client) -> None:
    recipe = finished([0, 1, 1])
    page = page_of(client, recipe)
    assert "from 3 devices" in page
    assert "<dt>Devices</dt><dd>3" in page
    assert "Error bound (95%)" in page


def test_released_test_shows_its_verdicts_and_thresholds_everywhere(client: Client) -> None:
    recipe = finished([0] * 6, statistic="uniformity", k=3, alpha=0.3, epsilon=5.0)
    details = recipe.release.details
    page = page_of(client, recipe)
    for said in ("Verdict: ", "Threshold of the paper (τ)", "Calibrated threshold", "and its thresholds"):
        assert said in page
    assert "95% interval" not in page
    assert "Projection" not in page
    assert "Verdict: " in page_text(client.get("/"))
    address = [recipe.identifier]
    document = json.loads(client.get(reverse("result-json", args=address)).getvalue())
    assert (document["details"], document["interval"]) == (details, None)
    (row,) = csv.DictReader(io.StringIO(client.get(reverse("result-csv", args=address)).getvalue().decode()))
    assert row["verdict"] == details["verdict"]
    assert float(row["calibrated_threshold"]) == details["calibrated_threshold"]


def test_batch_that_never_filled_says_that_devices_were_missing(client: Client) -> None:
    recipe = shuffle_recipe(simulation=False, cohort_size=6)
    fill(recipe, [0, 1])
    client.force_login(analyst())
    assert "With 6 devices, the result is released" in page_of(client, recipe, "recipe-close")
    recipe_close(recipe=recipe, actor=None)
    settle()
    page = page_of(client, recipe)
    assert "Closed below 6 devices." in page
    assert "fewer devices than the cohort size of 6" in page
    assert "The shuffler deletes its messages when it is told" in page

from typing import Any

import pytest
from django.test import Client

from publishing.publication import recipe_close
from recipes.models import Recipe
from tests.collections.pages.scene import every_tab, recipe_page, result_document, result_rows
from tests.collections.shuffle.analyzer.conftest import _analyzer  # noqa: F401  # for every test
from tests.collections.shuffle.analyzer.scene import ORIGIN, fill, settle, shuffle_recipe
from tests.page_text import page_text
from tests.scenes import analyst

pytestmark = pytest.mark.django_db


def finished(values: list[int], **changes: Any) -> Recipe:
    recipe = shuffle_recipe(simulation=False, **{"cohort_size": len(values), **changes})
    fill(recipe, values)
    settle()
    return Recipe.objects.get(pk=recipe.pk)


def test_open_recipe_says_what_each_observer_learns(client: Client) -> None:
    recipe = shuffle_recipe(simulation=False)
    key = recipe.published.document["shuffler"]["verification_key"]
    for said in ("send-value", f'href="{ORIGIN}/"', key):
        assert said in recipe_page(client, recipe, "recipe-take-part")
    assert "it cannot read messages" in recipe_page(client, recipe)
    assert "<code>shuffler_signature</code>" in recipe_page(client, recipe, "recipe-verify")
    page = recipe_page(client, recipe, "recipe-privacy")
    for said in (
        "The shuffler and this server together, or this server if it reads what devices send there",
        "as this server does, gets from 50% sure (a coin toss) to at most 82% sure of a guess about one",
        "If 50% of the devices collude",
        f'href="{ORIGIN}/"',
        "How devices encrypt their messages to this server.",
    ):
        assert said in page
    for of_others in (
        "what they keep",
        "Seconds per step",
        "helper",
        "panprivacy.device join",
        "of the items",
    ):
        assert of_others not in every_tab(client, recipe)


def test_released_test_shows_its_verdicts_and_thresholds_everywhere(client: Client) -> None:
    recipe = finished([0] * 6, statistic="uniformity", k=3, alpha=0.3, epsilon=5.0)
    details = recipe.release.details
    page = recipe_page(client, recipe)
    for said in ("Verdict: ", "Threshold of the paper (τ)", "Calibrated threshold", "and its thresholds"):
        assert said in page
    for of_estimates in ("95% interval", "Projection"):
        assert of_estimates not in page
    assert "Verdict: " in page_text(client.get("/"))
    document, (row,) = result_document(client, recipe), result_rows(client, recipe)
    assert (document["details"], document["interval"]) == (details, None)
    assert row["verdict"] == details["verdict"]
    assert float(row["calibrated_threshold"]) == details["calibrated_threshold"]
    # Devices are counted, not messages.
    counted = finished([0, 1, 1])
    assert "<dt>Devices</dt><dd>3" in recipe_page(client, counted, "recipe-verify")
    assert "Error bound (95%)" in recipe_page(client, counted)


def test_batch_that_never_filled_says_that_devices_were_missing(client: Client) -> None:
    recipe = shuffle_recipe(simulation=False, cohort_size=6)
    fill(recipe, [0, 1])
    client.force_login(analyst())
    assert "With 6 devices, the result is released" in recipe_page(client, recipe, "recipe-close")
    recipe_close(recipe=recipe, actor=None)
    settle()
    page = recipe_page(client, recipe)
    assert "Closed below 6 devices." in page
    assert "fewer devices than the cohort size of 6" in page
    assert "The shuffler deletes its messages when it is notified" in page

"""One analyst alone reads one device: a recipe with ε = 20 and a cohort of two, and one report of their own.

Before there were limits it worked 6 times of 6. Now a site in production publishes no such recipe, and a
device takes part in none, whatever the site allows.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from devices_sim.client import Device
from devices_sim.transport import ServedRecipe
from ledger.models import Population, Spending
from ledger.operations import population_change
from panprivacy.errors import FieldError
from panprivacy.limits import USUAL
from recipes.models import Recipe
from storage.signing_key import verification_key
from tests.collections.pages.test_recipe_pages import form_data
from tests.factories import as_json, published_recipe, recipe_members, report_of_count
from tests.page_text import page_text
from tests.scenes import analyst, finish
from trust_models.publishing import recipe_publish_file

pytestmark = pytest.mark.django_db

GREEDY = {"epsilon": 20.0, "cohort_size": 2}
LIKELY = {"epsilon": 1.0, "cohort_size": 100, "delta": 0.1}
"""Each device may be shown as it is with a probability of one in ten."""

SHARED = {"statistic": "mean", "k": 10, "guarantee": "aggregator", "epsilon": 2.0, "cohort_size": 100}
"""Within the limits on ε and the cohort. Its noise is the whole cohort's: who sends 99 of 100 reports,
without noise, reads the last but for noise of scale 2.2, a local ε of 30."""


@pytest.fixture
def production(settings: Any) -> None:
    settings.SMALLEST_COHORT = USUAL.smallest_cohort
    settings.LARGEST_EPSILON = USUAL.largest_epsilon
    settings.LARGEST_LOCAL_EPSILON = USUAL.largest_local_epsilon
    settings.LARGEST_DELTA = USUAL.largest_delta


def sent(client: Client, recipe: Recipe, count: int) -> None:
    address = reverse("api-report", args=[recipe.identifier])
    report = as_json(report_of_count(recipe, count))
    assert client.post(address, report, content_type="application/json").status_code == 201


def test_without_limits_the_result_tells_what_the_other_device_sent(client: Client) -> None:
    """So that the other tests prove something. The coin keeps the truth but for 2e-9 of the time."""
    for truth in (0, 1, 1, 0, 1, 0):
        recipe = published_recipe(**GREEDY)
        sent(client, recipe, truth)
        sent(client, recipe, 0)
        assert round(finish(recipe).release.values[0]) == truth


@pytest.mark.usefixtures("production")
@pytest.mark.parametrize(
    ("members", "field"),
    [
        ({"epsilon": 20.0, "cohort_size": 100}, "epsilon"),
        ({**GREEDY, "epsilon": 1.0}, "cohort_size"),
        (LIKELY, "delta"),
    ],
)
def test_site_in_production_neither_drafts_nor_publishes_it(
    client: Client, members: dict[str, Any], field: str
) -> None:
    client.force_login(analyst())
    data = form_data(action="save", **{name: str(value) for name, value in members.items()})
    refused = client.post(f"{reverse('recipe-new')}?statistic=count_nonzero", data)
    assert refused.status_code == 422
    assert list(refused.context["form"].errors) == [field]
    with pytest.raises(FieldError, match="for this site") as error:
        recipe_publish_file(members=recipe_members(**members), actor=None)
    assert error.value.field == field
    assert not Recipe.objects.exists()


def test_draft_from_before_the_limits_is_shown_with_the_reason_and_not_published(
    client: Client, settings: Any
) -> None:
    client.force_login(analyst())
    client.post(f"{reverse('recipe-new')}?statistic=count_nonzero", form_data(epsilon="20"))
    draft = Recipe.objects.get()
    settings.LARGEST_EPSILON = USUAL.largest_epsilon
    page = page_text(client.get(reverse("recipe-draft", args=[draft.pk])))
    assert "must be at most 8 for this site, not 20" in page
    assert "<button disabled>" in page
    answer = client.post(reverse("recipe-publish", args=[draft.pk]), {"reviewed": draft.draft_hash})
    assert answer.status_code == 422
    draft.refresh_from_db()
    assert draft.status == Recipe.Status.DRAFT


def test_mean_whose_noise_the_cohort_shares_is_neither_published_nor_answered(
    settings: Any, tmp_path: Path
) -> None:
    recipe = published_recipe(**SHARED)
    served = ServedRecipe(
        str(recipe.identifier), recipe.published.document, bytes(recipe.signature), status="open"
    )
    key = verification_key().public_bytes_raw()
    with pytest.raises(FieldError, match=r"local ε of 30\.1, and the limit for this device is 16") as error:
        Device.join(tmp_path / "state", served, verification_key=key)
    assert error.value.field == "guarantee"
    limits = replace(USUAL, largest_local_epsilon=31)
    with Device.join(tmp_path / "state", served, verification_key=key, limits=limits) as device:
        assert device.recipe.identifier == recipe.identifier
    settings.LARGEST_LOCAL_EPSILON = USUAL.largest_local_epsilon
    with pytest.raises(FieldError, match="the limit for this site is 16"):
        recipe_publish_file(members=recipe_members(**SHARED), actor=None)
    for allowed in (
        {**SHARED, "guarantee": "local"},
        {"statistic": "histogram", "k": 3, "epsilon": 8.0, "cohort_size": 100},
    ):
        assert recipe_publish_file(members=recipe_members(**allowed), actor=None).identifier


@pytest.mark.usefixtures("production")
def test_simulations_ask_nobody_and_have_no_limits() -> None:
    assert published_recipe(simulation=True, **GREEDY).status == Recipe.Status.PUBLISHED


def test_device_keeps_out_of_what_a_careless_site_publishes(tmp_path: Path) -> None:
    recipe = published_recipe(**GREEDY)
    served = ServedRecipe(
        str(recipe.identifier), recipe.published.document, bytes(recipe.signature), status="open"
    )
    key = verification_key().public_bytes_raw()
    with pytest.raises(FieldError, match="for this device"):
        Device.join(tmp_path / "state", served, verification_key=key)
    assert not (tmp_path / "state").exists()


def test_new_installation_has_a_budget_for_everyone_and_one_that_has_spent_keeps_what_it_had() -> None:
    from importlib import import_module

    from django.apps import apps

    migration = import_module("ledger.migrations.0005_first_budget")
    everyone = Population.objects.get(name="everyone")
    migration.give_a_budget(apps, None)
    everyone.refresh_from_db()
    assert (everyone.epsilon, everyone.delta, everyone.rule) == (4.0, 1e-5, "filter")
    population_change(population=everyone, description="", budget=None, actor=None)
    published_recipe(cohort_size=50)
    assert Spending.objects.exists()
    migration.give_a_budget(apps, None)
    everyone.refresh_from_db()
    assert everyone.budget is None

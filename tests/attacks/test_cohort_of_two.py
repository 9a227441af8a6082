"""One analyst alone reads one device: a recipe with ε = 20 and a cohort of two, and one report of their own.

A site in production publishes no such recipe. A device takes part in none, whatever the site allows
(tests/panprivacy/device/test_client.py).
"""

from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from django.test import Client
from django.urls import reverse

from ledger.models import Population
from panprivacy.device.client import Device
from panprivacy.device.transport import ServedRecipe
from panprivacy.formats.errors import FieldError
from panprivacy.planning.limits import USUAL
from publishing.publication import recipe_publish_file
from recipes.models import Recipe
from storage.signing_key import verification_key
from tests.collections.pages.scene import form_data
from tests.factories import as_json, published_recipe, recipe_members, report_of_count
from tests.page_text import page_text
from tests.scenes import analyst, finish

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


def test_without_limits_the_result_gives_the_other_report_away(client: Client) -> None:
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
def test_production_refuses_draft_and_publishing(client: Client, members: dict[str, Any], field: str) -> None:
    client.force_login(analyst())
    data = form_data(action="save", **{name: str(value) for name, value in members.items()})
    refused = client.post(f"{reverse('recipe-new')}?statistic=count_nonzero", data)
    assert refused.status_code == 422
    assert list(refused.context["form"].errors) == [field]
    with pytest.raises(FieldError, match="for this site") as error:
        recipe_publish_file(members=recipe_members(**members), actor=None)
    assert error.value.field == field
    assert not Recipe.objects.exists()
    # A simulation asks no device.
    assert published_recipe(simulation=True, **GREEDY).status == Recipe.Status.PUBLISHED


def test_draft_beyond_later_limits_is_shown_and_not_published(client: Client, settings: Any) -> None:
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


def test_mean_with_shared_noise_is_neither_published_nor_answered(settings: Any, tmp_path: Path) -> None:
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


def test_new_installation_has_a_budget_for_everyone() -> None:
    models = Mock()
    import_module("ledger.migrations.0001_initial").make_everyone(models, None)
    (created,) = models.get_model.return_value.objects.create.call_args_list
    assert (created.kwargs["epsilon"], created.kwargs["delta"]) == (4.0, 1e-5)
    assert Population(**created.kwargs).rule == "filter"

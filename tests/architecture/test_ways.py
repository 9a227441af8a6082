"""docs/architecture.md says which rooms a recipe and a report pass. This is how they do."""

import sys
from functools import partial
from importlib import import_module
from typing import Any

import pytest
from django.conf import settings
from django.test import Client
from django.urls import reverse

from aggregation.models import Chunk
from aggregation.tasks import process_chunk
from peers import roles
from peers.partner import Partner
from recipes.models import Recipe
from releases.models import Release
from releases.tasks import advance_collections
from tests.architecture.picture import rooms_of
from tests.architecture.ways import ROOT, Way
from tests.collections.pages.test_recipe_pages import form_data
from tests.collections.two_server import scene
from tests.factories import as_json, published_recipe, report_of_count
from tests.scenes import analyst
from trust_models.publishing import recipe_close

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def everything_imported() -> None:
    """Importing a module calls what it needs at once, which is no step of a way."""
    import_module(settings.ROOT_URLCONF)


def elsewhere(*request: Any) -> Any:
    """The helper's answer, which is no part of the leader's way."""
    noting = sys.getprofile()
    sys.setprofile(None)
    try:
        return scene.reached(*request)
    finally:
        sys.setprofile(noting)


@pytest.mark.parametrize(
    ("trust", "passed"),
    [("single_server", {"reports"}), ("two_server", {"leader", "dap"})],
    ids=["one", "two"],
)
def test_a_recipe_returns_at_most_twice_to_a_room_from_its_form_to_its_publication(
    client: Client, settings: Any, monkeypatch: pytest.MonkeyPatch, trust: str, passed: set[str]
) -> None:
    settings.LEADER_URL, settings.HELPER_URL = scene.LEADER_URL, scene.HELPER_URL
    settings.HELPER_KEY = scene.verification_key_of(scene.HELPER_SIGNING_KEY)
    monkeypatch.setattr(roles, "Partner", partial(Partner, transport=elsewhere))
    client.force_login(analyst())
    way = Way()
    with way:
        drafted = client.post(f"{reverse('recipe-new')}?statistic=count_nonzero", form_data(trust=trust))
    assert drafted.status_code == 302
    recipe = Recipe.objects.get()
    with way:
        client.post(reverse("recipe-publish", args=[recipe.pk]), {"reviewed": recipe.draft_hash})
    recipe.refresh_from_db()
    assert recipe.status == Recipe.Status.PUBLISHED
    assert set(way.rooms) == {"pages", "trust_models", "planner", "peers", "recipes", "ledger"} | passed
    assert max(way.returns.values()) <= 2


def test_a_report_goes_from_the_door_to_the_page_and_no_room_calls_one_above_it(client: Client) -> None:
    recipe = published_recipe(cohort_size=2)
    for _ in range(2):
        report = as_json(report_of_count(recipe, 1))
        with Way() as arriving:
            client.post(
                f"/api/v1/recipes/{recipe.identifier}/reports/", report, content_type="application/json"
            )
    recipe_close(recipe=recipe, actor=None)
    with Way() as planning:
        advance_collections()
    with Way() as adding:
        process_chunk(str(Chunk.objects.get().pk))
    with Way() as releasing:
        advance_collections()
    assert Release.objects.get().outcome == Release.Outcome.RELEASED
    with Way() as showing:
        client.get(reverse("recipe", args=[recipe.identifier]))
    steps = (arriving, planning, adding, releasing, showing)
    assert [step.rooms[0] for step in steps] == ["reports", "releases", "aggregation", "releases", "pages"]
    above = {room: place for place, room in enumerate(rooms_of(ROOT / ".importlinter"))}
    calls = [entry for step in steps for entry in step.entries if entry.caller]
    assert [call for call in calls if above[call.room] < above[call.caller]] == []
    asked = {entry.room for entry in releasing.entries if entry.caller == "releases"}
    assert asked == {"trust_models", "recipes"}

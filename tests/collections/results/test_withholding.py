"""Giving up a result: the stated refusal where a helper never comes back."""

from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from dap.leader.models import AggregationJob, Uploads
from dap.models import Side
from log.audit.models import Entry
from publishing.publication import recipe_close
from recipes.errors import RecipeStateError
from recipes.models import Recipe
from results.models import Release
from results.operations import result_release, result_withhold
from tests.collections.pages.scene import recipe_page
from tests.collections.publishing import scene
from tests.collections.publishing.conftest import _leader  # noqa: F401  # for every test
from tests.collections.publishing.scene import closed, reported, settle, task, tick, two_server_recipe
from tests.driving import collections_advance
from tests.factories import published_recipe

pytestmark = pytest.mark.django_db

REASON = "fewer valid reports than the cohort size, we think"
"""Like the reason of a result that is withheld for too few."""


def stuck() -> Recipe:
    """A closed recipe with enough reports, whose helper does not answer."""
    recipe = closed(reported(two_server_recipe(), *[1] * 5))
    tick(transport=scene.unreachable)
    assert result_release(recipe=recipe) is None
    return recipe


@pytest.mark.django_db(transaction=True)
def test_withhold_states_its_reason_and_deletes_reports_and_keys(client: Client) -> None:
    recipe, output = stuck(), StringIO()
    call_command("recipe", "withhold", str(recipe.identifier), "--reason", REASON, stdout=output)
    assert str(recipe.identifier) in output.getvalue()
    release = Release.objects.get(recipe=recipe)
    withheld = (release.outcome, release.cause, release.reason, release.values)
    assert withheld == ("withheld", Release.Cause.GIVEN_UP, REASON, [])
    ours = task(recipe, Side.LEADER)
    assert (ours.state, ours.verify_key, ours.share_key) == ("ended", None, None)
    assert not Uploads.objects.exists()
    assert not AggregationJob.objects.exists()
    entry = Entry.objects.get(action="result_withheld")
    assert (entry.subject, entry.details["reason"]) == (recipe.identifier, REASON)
    page = recipe_page(client, recipe)
    assert REASON in page
    assert "Closed below" not in page
    verify = recipe_page(client, recipe, "recipe-verify")
    assert "not published, as nothing was released" in verify
    assert "not published below the cohort size" not in verify
    settle()  # the helper comes back after all
    theirs = task(recipe, Side.HELPER)
    assert (theirs.state, theirs.outcome, theirs.share_key) == ("ended", REASON, None)
    collections_advance()
    assert Release.objects.get().outcome == "withheld"


def test_withhold_of_a_recipe_of_one_server_is_final() -> None:
    recipe = recipe_close(recipe=published_recipe(), actor=None)
    assert result_withhold(recipe=recipe, reason=REASON, actor=None).cause == Release.Cause.GIVEN_UP
    assert result_release(recipe=recipe) is None


def test_withhold_of_an_open_recipe_or_a_released_result_is_refused() -> None:
    recipe = two_server_recipe()
    with pytest.raises(RecipeStateError, match="close it first"):
        result_withhold(recipe=recipe, reason=REASON, actor=None)
    recipe = closed(reported(recipe, *[1] * 5))
    settle()
    assert result_release(recipe=recipe) is not None
    with pytest.raises(RecipeStateError, match="already"):
        result_withhold(recipe=recipe, reason=REASON, actor=None)
    assert Release.objects.get().outcome == "released"


@pytest.mark.parametrize(("identifier", "reason"), [("0" * 64, REASON), (None, " "), (None, "x" * 201)])
def test_withhold_command_with_bad_input_withholds_nothing(identifier: str | None, reason: str) -> None:
    recipe = stuck()
    with pytest.raises(CommandError) as refusal:
        call_command("recipe", "withhold", identifier or str(recipe.identifier), "--reason", reason)
    assert refusal.value.returncode == 2
    assert not Release.objects.exists()


def test_task_command_does_not_end_or_collect_the_task_of_a_recipe() -> None:
    ours = task(stuck(), Side.LEADER)
    # In base64url one of 64 begins with "-", which call_command, unlike a command line, takes for an option.
    identifier = bytes(ours.task_id).hex()
    for action in ("end", "collect"):
        with pytest.raises(CommandError, match="is a recipe's"):
            call_command("task", action, identifier)
    ours.refresh_from_db()
    assert ours.state == "closed"

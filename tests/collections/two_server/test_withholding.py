"""Giving up a result: the stated refusal where a helper never comes back."""

from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from audit.models import Entry
from dap.models import Side
from leader.models import AggregationJob, Uploads
from recipes.errors import RecipeStateError
from recipes.models import Recipe
from releases.models import Release
from releases.operations import collections_advance, result_release, result_withhold
from tests.collections.two_server import scene
from tests.collections.two_server.scene import sealed_report, settle, task, tick, two_server_recipe, upload
from tests.factories import published_recipe
from trust_models.publishing import recipe_close

pytestmark = pytest.mark.django_db

REASON = "the helper is gone"


def stuck() -> Recipe:
    """A closed recipe with enough reports, whose helper does not answer."""
    recipe = two_server_recipe()
    assert upload(recipe, [sealed_report(recipe, [1]) for _ in range(5)]) == []
    recipe = recipe_close(recipe=recipe, actor=None)
    tick(transport=scene.unreachable)
    assert result_release(recipe=recipe) is None
    return recipe


def test_withhold_withholds_the_result_with_its_reason_and_deletes_reports_and_keys() -> None:
    recipe = stuck()
    release = result_withhold(recipe=recipe, reason=REASON, actor=None)
    assert (release.outcome, release.reason, release.values) == ("withheld", REASON, [])
    ours = task(recipe, Side.LEADER)
    assert ours is not None
    assert (ours.state, ours.verify_key, ours.share_key) == ("ended", None, None)
    assert not Uploads.objects.exists()
    assert not AggregationJob.objects.exists()
    entry = Entry.objects.get(action="result_withheld")
    assert (entry.subject, entry.details["reason"]) == (recipe.identifier, REASON)


def test_withhold_is_told_to_a_helper_that_comes_back_after_all() -> None:
    recipe = stuck()
    result_withhold(recipe=recipe, reason=REASON, actor=None)
    settle()
    theirs = task(recipe, Side.HELPER)
    assert theirs is not None
    assert (theirs.state, theirs.outcome, theirs.share_key) == ("ended", REASON, None)
    collections_advance()
    assert Release.objects.get().outcome == "withheld"


def test_withhold_of_an_open_recipe_or_a_released_result_is_refused() -> None:
    recipe = two_server_recipe()
    with pytest.raises(RecipeStateError, match="close it first"):
        result_withhold(recipe=recipe, reason=REASON, actor=None)
    upload(recipe, [sealed_report(recipe, [1]) for _ in range(5)])
    recipe = recipe_close(recipe=recipe, actor=None)
    settle()
    assert result_release(recipe=recipe) is not None
    with pytest.raises(RecipeStateError, match="already"):
        result_withhold(recipe=recipe, reason=REASON, actor=None)
    assert Release.objects.get().outcome == "released"


def test_withhold_of_a_recipe_of_one_server_is_final() -> None:
    recipe = recipe_close(recipe=published_recipe(), actor=None)
    assert result_withhold(recipe=recipe, reason=REASON, actor=None).cause == Release.Cause.GIVEN_UP
    assert result_release(recipe=recipe) is None


def test_withhold_command_ends_the_waiting_and_says_so() -> None:
    recipe = stuck()
    output = StringIO()
    call_command("recipe", "withhold", str(recipe.identifier), "--reason", REASON, stdout=output)
    assert str(recipe.identifier) in output.getvalue()
    assert Release.objects.get(recipe=recipe).reason == REASON


@pytest.mark.parametrize(("identifier", "reason"), [("0" * 64, REASON), (None, " "), (None, "x" * 201)])
def test_withhold_command_with_bad_input_exits_with_2_and_withholds_nothing(
    identifier: str | None, reason: str
) -> None:
    recipe = stuck()
    with pytest.raises(CommandError) as refusal:
        call_command("recipe", "withhold", identifier or str(recipe.identifier), "--reason", reason)
    assert refusal.value.returncode == 2
    assert not Release.objects.exists()


def test_withhold_for_a_reason_that_reads_like_too_few_reports_is_not_shown_as_such(client: Client) -> None:
    recipe = stuck()
    reason = "fewer valid reports than the cohort size, we think"
    release = result_withhold(recipe=recipe, reason=reason, actor=None)
    assert release.cause == Release.Cause.GIVEN_UP
    page = client.get(reverse("recipe", args=[recipe.identifier])).content.decode()
    assert reason in page
    assert "Closed below" not in page
    assert "not published below the cohort size" not in page


def test_task_command_does_not_end_or_collect_the_task_of_a_recipe() -> None:
    ours = task(stuck(), Side.LEADER)
    assert ours is not None
    # In base64url one of 64 begins with "-", which call_command, unlike a command line, takes for an option.
    identifier = bytes(ours.task_id).hex()
    for action in ("end", "collect"):
        with pytest.raises(CommandError, match="is a recipe's"):
            call_command("task", action, identifier)
    ours.refresh_from_db()
    assert ours.state == "closed"

"""What is deleted, when and by whom: halves, reports, and the helper's rows."""

from datetime import timedelta
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection, transaction
from django.utils import timezone

from joint_key.helper.models import JointRecipe, WaitingKey
from joint_key.helper.sums import upkeep
from joint_key.leader.models import JointSum
from joint_key.leader.sums import sum_begin, sum_end, sums_take
from log.audit.models import Entry
from partners import joint_key_calls
from partners.client import PeerRefusedError
from publishing.publication import recipe_close
from recipes.models import Recipe, RecipeKey
from reports.models import AcceptedReport
from results.models import Release
from results.operations import result_withhold
from simulations.installation.services import wait_until
from tests.collections.joint_key.scene import (
    BITS,
    closed,
    joint_recipe,
    listed,
    release_of,
    reports_take,
    settle,
    sum_of,
    sums_drive,
    there,
)
from tests.collections.publishing.scene import partner
from tests.concurrency import in_thread, waits_for_lock
from tests.network import unreachable
from tests.patience import PATIENCE

pytestmark = pytest.mark.django_db


def delete(identifier: str, reason: str = "it is over") -> None:
    joint_key_calls.recipe_end(partner().client(), identifier=identifier, reason=reason)


def ended() -> list[dict[str, Any]]:
    """Details of what the helper logged about ends."""
    return [entry.details for entry in Entry.objects.filter(action="joint_recipe_ended")]


def test_end_deletes_the_helpers_half_once_and_for_good() -> None:
    recipe = listed()
    identifier = str(recipe.identifier)
    delete(identifier, "first " * 60)
    delete(identifier, "second")
    row = there(recipe)
    assert (row.state, row.sealed, row.part, bytes(row.total)) == (JointRecipe.State.ENDED, None, None, b"")
    assert row.outcome == ("first " * 60)[:200]
    assert [details["given"] for details in ended()] == [False]
    helper = partner().client()
    for ask in (
        lambda: joint_key_calls.part_check(helper, identifier=identifier, number=0, content=b"0"),
        lambda: joint_key_calls.list_sign(helper, identifier=identifier, digest=row.list, reports=6),
        lambda: joint_key_calls.recipe_join(
            helper, identifier=identifier, document=recipe.document.encode(), request=bytes(16)
        ),
    ):
        with pytest.raises(PeerRefusedError, match="The recipe has ended: first"):
            ask()


def test_end_of_an_unknown_recipe_is_no_error_and_others_are() -> None:
    delete("0" * 64)
    with pytest.raises(PeerRefusedError, match="does not take part") as refused:
        joint_key_calls.list_sign(partner().client(), identifier="0" * 64, digest="", reports=5)
    assert refused.value.status == 404


def test_recipe_that_the_helper_ended_has_no_result() -> None:
    recipe = listed()
    delete(str(recipe.identifier), "restored from a backup")
    settle()
    release = release_of(recipe)
    assert (release.outcome, release.cause) == (Release.Outcome.WITHHELD, Release.Cause.REFUSED)
    assert "restored from a backup" in release.reason
    assert not AcceptedReport.objects.exists()


@pytest.mark.parametrize("begun", [False, True])
def test_result_is_given_up_if_the_helper_is_gone(begun: bool) -> None:
    recipe = listed() if begun else closed()
    reports_take()
    sums_drive(unreachable)
    release = result_withhold(recipe=recipe, reason="the helper is gone", actor=None)
    assert release.cause == Release.Cause.GIVEN_UP
    for model in (RecipeKey, AcceptedReport):
        assert not model.objects.exists()
    assert sum_of(recipe).state == JointSum.State.REFUSED
    settle(unreachable)
    assert not sum_of(recipe).is_deleted_there
    settle()
    assert sum_of(recipe).is_deleted_there
    assert [details["reason"] for details in ended()] == ["the helper is gone"]
    assert Entry.objects.filter(action="joint_part_given").count() == 0


def test_result_that_is_held_and_then_withheld_leaves_no_count() -> None:
    recipe = closed()
    settle(issued=1)
    row = sum_of(recipe)
    assert (row.state, row.count) == (JointSum.State.COUNTED, sum(BITS))
    assert there(recipe).part is not None
    result_withhold(recipe=recipe, reason="the issuer made tokens", actor=None)
    row = sum_of(recipe)
    assert (row.count, row.leader_part, row.helper_part, bytes(row.total)) == (None, None, None, b"")
    settle(issued=1)
    assert there(recipe).part is None
    assert [details["given"] for details in ended()] == [True]


def test_recipe_without_reports_ends_at_both() -> None:
    recipe = recipe_close(recipe=joint_recipe(), actor=None)
    settle(ticks=2)
    assert release_of(recipe).cause == Release.Cause.TOO_FEW
    assert not RecipeKey.objects.exists()
    assert there(recipe).state == JointRecipe.State.ENDED


def test_upkeep_deletes_what_no_leader_ended(settings: Any) -> None:
    recipe = joint_recipe()
    over = recipe.published.closes_at + timedelta(seconds=settings.TASK_RETENTION_SECONDS)
    upkeep(now=over - timedelta(seconds=1))
    assert there(recipe).state == JointRecipe.State.OPEN
    upkeep(now=over)
    row = there(recipe)
    assert (row.state, row.sealed) == (JointRecipe.State.ENDED, None)
    assert "It was not ended" in row.outcome
    upkeep(now=over + timedelta(days=1))
    assert len(ended()) == 1


def test_upkeep_ends_a_simulation_a_day_after_it_joined(settings: Any) -> None:
    recipe = joint_recipe(simulation=True)
    over = there(recipe).created_at + timedelta(days=1, seconds=settings.TASK_RETENTION_SECONDS)
    upkeep(now=over - timedelta(seconds=1))
    assert there(recipe).state == JointRecipe.State.OPEN
    upkeep(now=over)
    assert there(recipe).state == JointRecipe.State.ENDED


def test_command_of_the_helper_does_the_upkeep() -> None:
    joint_key_calls.key_commit(partner().client(), request=bytes(16), context=bytes(32), commitment=bytes(32))
    WaitingKey.objects.update(created_at=timezone.now() - timedelta(days=1))
    call_command("helper_upkeep")
    assert not WaitingKey.objects.exists()


def test_unfinished_sum_keeps_no_worker_from_others() -> None:
    for recipe in (closed(), closed()):
        reports_take()
        sum_begin(recipe=recipe, now=timezone.now())
    now = timezone.now()
    assert len(sums_take(now=now).rows) == 2
    assert sums_take(now=now).rows == []
    assert len(sums_take(now=now + timedelta(minutes=6)).rows) == 2


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has one writer at a time")
def test_sum_that_begins_while_its_recipe_ends_blocks_nothing() -> None:
    """The one that begins waits for the recipe's lock, and holds nothing that the other needs."""
    recipe, now = joint_recipe(), timezone.now()
    with transaction.atomic():
        Recipe.objects.select_for_update().get(pk=recipe.pk)
        beginning = in_thread(lambda: sum_begin(recipe=recipe, now=now))
        assert wait_until(waits_for_lock, PATIENCE)
        sum_end(recipe=recipe, reason="it was withheld", keep=False, now=now)
    beginning.join(PATIENCE)
    assert JointSum.objects.get().deletion_reason == "it was withheld"

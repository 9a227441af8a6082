import base64
import json
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from django.db import DatabaseError, transaction
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from audit.models import Entry
from dap.models import Side, Task
from leader.models import Registration
from leader.registrations import LONGEST_BEGINNING, registrations_call_off
from panprivacy.errors import FieldError
from panprivacy.recipe import PublishedRecipe
from panprivacy.trust import Trust
from recipes.errors import PartnerUnavailableError, RecipeStateError
from recipes.models import HelperSignature, Recipe, RecipeKey
from recipes.operations import recipe_draft_save
from storage.signing_key import verification_key
from tests.collections.two_server import scene
from tests.collections.two_server.scene import partner, partners, two_server_members, two_server_recipe
from trust_models import two_server
from trust_models.publishing import recipe_close, recipe_publish

pytestmark = pytest.mark.django_db


def two_server_draft(**changes: Any) -> Recipe:
    return recipe_draft_save(members=two_server_members(**changes), actor=None)


def call_off(transport: Any = scene.reached, *, now: datetime) -> None:
    registrations_call_off(now=now, transport=transport)


def tasks() -> set[tuple[str, str]]:
    """Side and state of every task of either server."""
    return set(Task.objects.values_list("side", "state"))


@pytest.mark.parametrize("statistic", [{}, {"statistic": "histogram", "k": 2}])
@pytest.mark.parametrize("encryption", ["elgamal-secp256k1", "paillier-2048"])
def test_publish_makes_one_task_of_both_servers_and_has_the_document_signed_by_both(
    statistic: dict[str, Any], encryption: str
) -> None:
    recipe = two_server_recipe(encryption=encryption, **statistic)
    document = json.loads(recipe.document)
    helper_key = Ed25519PublicKey.from_public_bytes(scene.verification_key_of(scene.HELPER_SIGNING_KEY))
    read = PublishedRecipe.verified(
        document,
        str(recipe.identifier),
        bytes(recipe.signature),
        verification_key(),
        partner_key=helper_key,
        partner_signature=bytes(HelperSignature.objects.get(recipe=recipe).signature),
    )
    assert read.document == document
    assert document["leader"]["url"] == scene.LEADER_URL
    assert document["helper"]["url"] == scene.HELPER_URL
    ours, theirs = (scene.task(recipe, side) for side in (Side.LEADER, Side.HELPER))
    assert ours is not None
    assert theirs is not None
    assert bytes(ours.configuration) == bytes(theirs.configuration)
    assert ours.document == theirs.document == recipe.document
    # No key of this server alone opens a report.
    assert not RecipeKey.objects.exists()
    assert not Registration.objects.exists()


def test_publish_without_a_helper_is_refused_and_the_draft_kept() -> None:
    draft = two_server_draft()
    with pytest.raises(FieldError, match="no helper is set up") as refused:
        recipe_publish(recipe=draft, actor=None, partners={})
    assert refused.value.field == "trust"
    for what_to_do in ("PANAPP_ROLE=leader", "PANAPP_HELPER_KEY", "docs/operations.md", "make demo"):
        assert what_to_do in str(refused.value)
    assert Recipe.objects.get().status == Recipe.Status.DRAFT


def test_publish_by_a_leader_whose_key_the_helper_does_not_have_says_so_and_names_the_key() -> None:
    stranger = replace(partner(), signing_key=bytes(range(100, 132)))
    with pytest.raises(
        PartnerUnavailableError, match="does not accept the signature of this leader"
    ) as refused:
        recipe_publish(recipe=two_server_draft(), actor=None, partners={Trust.TWO_SERVER: stranger})
    assert base64.b64encode(scene.verification_key_of(bytes(range(100, 132)))).decode() in str(refused.value)
    assert "try again" not in str(refused.value)


def test_publish_while_the_helper_is_unreachable_keeps_the_draft_and_works_later() -> None:
    draft = two_server_draft()
    with pytest.raises(PartnerUnavailableError, match="did not answer"):
        recipe_publish(recipe=draft, actor=None, partners=partners(scene.unreachable))
    draft.refresh_from_db()
    assert (draft.status, draft.identifier) == (Recipe.Status.DRAFT, None)
    assert (tasks(), Registration.objects.count(), Entry.objects.exclude(action="draft_saved").count()) == (
        set(),
        0,
        0,
    )
    assert recipe_publish(recipe=draft, actor=None, partners=partners()).status == Recipe.Status.PUBLISHED


def test_publish_that_the_helper_refuses_says_why_and_keeps_the_draft() -> None:
    draft = two_server_draft(cohort_size=2)  # this helper takes part from 3 on
    with pytest.raises(FieldError, match=r"the helper at .* refuses") as refused:
        recipe_publish(recipe=draft, actor=None, partners=partners())
    assert refused.value.field == "trust"
    draft.refresh_from_db()
    assert draft.status == Recipe.Status.DRAFT
    assert tasks() == set()


@pytest.mark.parametrize("lost", ["POST", "PUT"])
def test_publish_again_after_a_lost_answer_publishes_once_and_what_was_begun_is_given_up(lost: str) -> None:
    draft = two_server_draft()
    with pytest.raises(PartnerUnavailableError):
        recipe_publish(recipe=draft, actor=None, partners=partners(scene.losing_answers(lost)))
    published = recipe_publish(recipe=draft, actor=None, partners=partners())
    later = timezone.now() + timedelta(hours=1)
    call_off(now=later)
    assert not Registration.objects.exists()
    ended = Task.objects.filter(side=Side.HELPER, state=Task.State.ENDED)
    # A key that was made is no task yet; the helper drops it by itself.
    assert ended.count() == (1 if lost == "PUT" else 0)
    assert all(task.share_key is None for task in ended)
    helper_task = scene.task(published, Side.HELPER)
    assert helper_task is not None
    assert helper_task.state == Task.State.OPEN


def test_publish_that_dies_before_it_is_stored_leaves_a_draft_and_a_note_of_what_was_begun(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def died(**_: object) -> None:
        raise KeyboardInterrupt

    draft = two_server_draft()
    monkeypatch.setattr(two_server, "task_create", died)
    with pytest.raises(KeyboardInterrupt):
        recipe_publish(recipe=draft, actor=None, partners=partners())
    draft.refresh_from_db()
    assert draft.status == Recipe.Status.DRAFT
    assert not HelperSignature.objects.exists()
    assert not Entry.objects.filter(action="recipe_published").exists()
    assert tasks() == {("helper", "open")}
    call_off(now=timezone.now() + timedelta(hours=1))
    assert tasks() == {("helper", "ended")}


def test_registration_that_was_given_up_cannot_be_published_any_more(monkeypatch: pytest.MonkeyPatch) -> None:
    # The helper is told it is over while a slow process still holds its signature.
    create = two_server._AgreedTask.store

    def slow(self: Any, recipe: Recipe) -> None:
        call_off(now=timezone.now() + timedelta(hours=1))
        create(self, recipe)

    monkeypatch.setattr(two_server._AgreedTask, "store", slow)
    draft = two_server_draft()
    with pytest.raises(RecipeStateError, match="took so long"):
        recipe_publish(recipe=draft, actor=None, partners=partners())
    draft.refresh_from_db()
    assert draft.status == Recipe.Status.DRAFT


def test_registration_is_kept_until_the_helper_has_acknowledged_its_end() -> None:
    with pytest.raises(PartnerUnavailableError):
        two_server_draft_publish_losing("PUT")
    later = timezone.now() + LONGEST_BEGINNING + timedelta(seconds=1)
    call_off(scene.unreachable, now=later)
    assert Registration.objects.exists()
    call_off(scene.losing_answers("DELETE"), now=later)
    assert Registration.objects.exists()
    call_off(now=later)
    assert not Registration.objects.exists()


def two_server_draft_publish_losing(method: str) -> None:
    recipe_publish(recipe=two_server_draft(), actor=None, partners=partners(scene.losing_answers(method)))


def test_publish_with_a_helper_whose_key_is_another_than_the_one_set_up_is_refused() -> None:
    with pytest.raises(PartnerUnavailableError, match="does not sign as the helper"):
        recipe_publish(
            recipe=two_server_draft(), actor=None, partners=partners(key=scene.verification_key_of(bytes(32)))
        )
    assert Recipe.objects.get().status == Recipe.Status.DRAFT


def test_publish_spends_the_same_as_with_one_server() -> None:
    from ledger.models import Spending
    from tests.factories import published_recipe

    two_server_recipe()
    published_recipe()
    one, other = Spending.objects.all()
    assert (one.event, one.event_if_half_colludes) == (other.event, other.event_if_half_colludes)


def test_close_lets_no_report_in_any_more() -> None:
    recipe = two_server_recipe()
    late = scene.sealed_report(recipe, [1])
    recipe_close(recipe=recipe, actor=None)
    (status,) = scene.upload(recipe, [late])
    assert status.error.reason == "report_dropped"


def test_api_hands_out_the_helpers_signature(client: Client) -> None:
    recipe = two_server_recipe()
    answer = client.get(reverse("api-recipe", args=[recipe.identifier])).json()
    assert base64.b64decode(answer["helper_signature"]) == bytes(HelperSignature.objects.get().signature)
    assert {guarantee["trust"] for guarantee in answer["guarantees"]} == {"two_server"}


def test_reports_for_one_server_are_refused_for_a_recipe_of_two(client: Client) -> None:
    recipe = two_server_recipe()
    url = f"/api/v1/recipes/{recipe.identifier}/reports/"
    for path in (url, f"{url}batch/"):
        answer = client.post(path, {"reports": []}, content_type="application/json")
        assert answer.status_code == 409
        assert answer.json()["type"] == "/problems/recipe-of-two-servers"
        assert scene.LEADER_URL in answer.json()["detail"]


def test_database_refuses_to_change_what_a_helper_signed() -> None:
    two_server_recipe()
    with pytest.raises(DatabaseError, match="what a helper signed"), transaction.atomic():
        HelperSignature.objects.update(signature=b"")

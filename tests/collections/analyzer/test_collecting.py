"""From the messages of devices through the shuffler to a release."""

import base64
import json
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from django.test import Client

from analyzer.models import BatchFetch
from analyzer.storing import FETCHED_REASON
from panprivacy.recipe import PublishedRecipe
from recipes.models import Recipe, RecipeKey
from releases.models import Release
from releases.operations import result_withhold
from reports.models import RejectionCount, StoredReports
from shuffler.models import Batch, Part, Submission, SubmissionNonce
from storage.signing_key import verification_key
from tests.collections.analyzer import scene
from tests.collections.analyzer.scene import fill, release_of, settle, shuffle_recipe, statistic_of
from trust_models import trust_model_of
from trust_models.publishing import recipe_close

pytestmark = pytest.mark.django_db


def zeros(recipe: Recipe) -> list[int]:
    """As many messages as the shuffler takes from a user, each for the first place."""
    return [0] * statistic_of(recipe).fewest_messages


def assert_nothing_is_left(recipe: Recipe) -> None:
    """Neither messages nor the key that opens them, on either side."""
    for model in (StoredReports, RecipeKey, Submission, SubmissionNonce, Part):
        assert not model.objects.exists(), model
    assert Batch.objects.get(identifier=recipe.identifier).state == Batch.State.ENDED


@pytest.mark.parametrize(
    "members",
    [
        {},
        {"statistic": "uniformity", "alpha": 0.5, "epsilon": 8.0, "delta": 0.1},
        {"statistic": "shuffle_histogram", "cohort_size": 60, "epsilon": 8.0, "delta": 0.1},
    ],
)
def test_full_batch_is_released_as_the_statistic_makes_it_of_all_messages(members: dict[str, Any]) -> None:
    recipe = shuffle_recipe(**members)
    total = fill(recipe, [place % 2 for place in range(recipe.cohort_size)])
    settle()
    release = release_of(recipe)
    assert release is not None
    assert release.outcome == Release.Outcome.RELEASED, release.reason
    assert release.reports == recipe.cohort_size
    assert release.values == list(statistic_of(recipe).estimate(total, recipe.cohort_size).values)
    assert_nothing_is_left(recipe)


def test_open_recipe_closes_by_itself_once_its_batch_is_here() -> None:
    recipe = shuffle_recipe()
    fill(recipe, [0, 0])
    settle(ticks=2)
    assert Recipe.objects.get(pk=recipe.pk).status == Recipe.Status.PUBLISHED
    fill(recipe, [1])
    settle()
    assert Recipe.objects.get(pk=recipe.pk).status == Recipe.Status.CLOSED


def test_recipe_closed_before_its_batch_is_full_releases_nothing_and_has_the_messages_deleted() -> None:
    recipe = shuffle_recipe()
    fill(recipe, [0, 1])
    recipe_close(recipe=recipe, actor=None)
    settle()
    release = release_of(recipe)
    assert release is not None
    assert (release.outcome, release.cause) == (Release.Outcome.WITHHELD, Release.Cause.TOO_FEW)
    assert release.reports is None
    assert_nothing_is_left(recipe)
    assert scene.send(recipe, zeros(recipe)) == 409


def test_recipe_closed_when_its_batch_was_full_is_released() -> None:
    recipe = shuffle_recipe()
    fill(recipe, [0, 1, 1])
    recipe_close(recipe=recipe, actor=None)
    settle()
    release = release_of(recipe)
    assert release is not None
    assert release.outcome == Release.Outcome.RELEASED


def test_message_that_no_protocol_sends_is_replaced_and_nothing_shows_it() -> None:
    recipe = shuffle_recipe(simulation=False)
    fill(recipe, [0, 1])
    assert scene.send(recipe, [99, *zeros(recipe)[1:]]) == 201
    settle()
    release = release_of(recipe)
    assert release is not None
    assert release.outcome == Release.Outcome.RELEASED
    assert release.rejected == {}
    assert all(server["rejected"] == {} for server in release.servers)
    assert not RejectionCount.objects.exists()


def test_batch_without_a_single_message_that_can_be_read_is_released_too() -> None:
    recipe = shuffle_recipe()
    for _ in range(3):
        assert scene.send(recipe, [99] * len(zeros(recipe))) == 201
    settle()
    release = release_of(recipe)
    assert release is not None
    assert release.outcome == Release.Outcome.RELEASED


def test_result_is_given_up_where_the_shuffler_is_gone_and_its_deletion_waits_for_it() -> None:
    recipe = shuffle_recipe()
    fill(recipe, [0, 1, 1])
    settle(transport=scene.unreachable)
    recipe = recipe_close(recipe=recipe, actor=None)
    trouble = trust_model_of(recipe).progress(recipe).servers[1].trouble
    assert trouble is not None
    assert "ConnectionRefusedError" in trouble.error
    release = result_withhold(recipe=recipe, reason="the shuffler is gone", actor=None)
    assert release.cause == Release.Cause.GIVEN_UP
    assert not RecipeKey.objects.exists()
    settle()
    assert_nothing_is_left(recipe)


def test_standing_tells_users_in_coarse_steps_only() -> None:
    recipe = shuffle_recipe(cohort_size=30)
    for _ in range(12):
        assert scene.send(recipe, zeros(recipe)) == 201
    settle(ticks=2)
    assert trust_model_of(recipe).progress(recipe).received == 10


def test_published_recipe_is_signed_so_that_a_device_believes_both_servers(client: Client) -> None:
    recipe = shuffle_recipe()
    served = client.get(f"/api/v1/recipes/{recipe.identifier}/").json()
    assert served["helper_signature"] is None
    pinned = Ed25519PublicKey.from_public_bytes(scene.verification_key_of(scene.SHUFFLER_SIGNING_KEY))
    read = PublishedRecipe.verified(
        served["document"],
        served["id"],
        base64.b64decode(served["signature"]),
        verification_key(),
        partner_key=pinned,
        partner_signature=base64.b64decode(served["shuffler_signature"]),
    )
    assert read.servers.shuffler_url == scene.SHUFFLER_URL
    assert json.loads(recipe.document) == served["document"]


def test_reports_of_such_a_recipe_are_sent_to_the_shuffler_and_not_to_the_site(client: Client) -> None:
    recipe = shuffle_recipe()
    answer = client.post(f"/api/v1/recipes/{recipe.identifier}/reports/", "{}", "application/json")
    assert (answer.status_code, answer.json()["type"]) == (409, "/problems/recipe-of-a-shuffler")
    assert scene.SHUFFLER_URL in answer.json()["detail"]


def test_state_of_a_batch_says_how_far_it_is() -> None:
    recipe = shuffle_recipe()
    fill(recipe, [0, 0])
    settle(ticks=1)
    fetch = BatchFetch.objects.get()
    assert (fetch.state, fetch.deletion_reason, fetch.parts) == (BatchFetch.State.ASKING, "", 0)
    fill(recipe, [0])
    settle()
    fetch.refresh_from_db()
    assert (fetch.state, fetch.deletion_reason) == (BatchFetch.State.FETCHED, FETCHED_REASON)
    assert fetch.is_deleted_there
    assert (fetch.fetched, fetch.stored) == (fetch.parts, fetch.messages)
    assert fetch.messages == 3 * len(zeros(recipe))

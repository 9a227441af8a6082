"""Publishing a recipe asks the shuffler, and leaves nothing where that fails."""

from dataclasses import replace

import pytest
from django.db import IntegrityError, transaction
from django.test import Client

from panprivacy.errors import FieldError
from panprivacy.trust import Trust
from peers.client import PeerUnavailableError
from recipes.errors import PartnerUnavailableError
from recipes.models import Recipe, RecipeKey, ShufflerSignature
from shuffler.models import Batch
from tests.collections.analyzer import scene
from tests.collections.analyzer.scene import partners, shuffle_recipe
from tests.collections.shuffler.scene import shuffle_members
from tests.factories import published_recipe
from trust_models import configured_partners
from trust_models.publishing import recipe_publish_file

pytestmark = pytest.mark.django_db


def assert_nothing_is_published() -> None:
    for model in (Recipe, RecipeKey, ShufflerSignature):
        assert not model.objects.exists()


def test_publish_without_a_shuffler_says_how_to_set_one_up() -> None:
    with pytest.raises(FieldError, match=r"no shuffler is set up.*PANAPP_SHUFFLER_URL"):
        recipe_publish_file(members=shuffle_members(), actor=None, partners={})
    assert_nothing_is_published()


def test_publish_with_a_shuffler_that_does_not_answer_leaves_nothing() -> None:
    with pytest.raises(PartnerUnavailableError, match=r"the shuffler at .* did not answer"):
        shuffle_recipe(transport=scene.unreachable)
    assert_nothing_is_published()


def test_publish_whose_answer_is_lost_leaves_a_batch_that_nobody_hears_of_and_may_be_tried_again() -> None:
    with pytest.raises(PartnerUnavailableError):
        shuffle_recipe(transport=scene.losing_answers("PUT"))
    assert_nothing_is_published()
    unheard = Batch.objects.get()
    assert unheard.state == Batch.State.COLLECTING
    assert shuffle_recipe().identifier != unheard.identifier


def test_publish_to_a_shuffler_that_does_not_know_us_says_which_key_to_give_it() -> None:
    stranger = replace(partners()[Trust.SHUFFLER], signing_key=bytes(range(100, 132)))
    with pytest.raises(PartnerUnavailableError, match="PANAPP_ANALYZER_KEY"):
        recipe_publish_file(members=shuffle_members(), actor=None, partners={Trust.SHUFFLER: stranger})
    assert_nothing_is_published()


def test_publish_to_something_else_than_the_shuffler_is_refused() -> None:
    with pytest.raises(PartnerUnavailableError, match="does not sign as the shuffler") as refusal:
        recipe_publish_file(
            members=shuffle_members(),
            actor=None,
            partners=partners(key=scene.verification_key_of(bytes(32))),
        )
    assert isinstance(refusal.value.__cause__, PeerUnavailableError)
    assert_nothing_is_published()


def test_recipe_that_the_shuffler_refuses_says_why() -> None:
    with pytest.raises(FieldError, match=r"the shuffler at .* refuses .*at least 3"):
        shuffle_recipe(cohort_size=2)
    assert_nothing_is_published()


def test_configured_shuffler_is_the_partner_for_its_recipes() -> None:
    configured = configured_partners()
    assert set(configured) == {Trust.SHUFFLER}
    assert configured[Trust.SHUFFLER].url == scene.SHUFFLER_URL


def test_what_the_shuffler_signed_cannot_be_changed() -> None:
    shuffle_recipe()
    with transaction.atomic(), pytest.raises(IntegrityError, match="what a shuffler signed"):
        ShufflerSignature.objects.update(signature=b"")
    assert len(bytes(ShufflerSignature.objects.get().signature)) == 64


def test_recipes_of_one_server_have_no_signature_of_a_shuffler(client: Client) -> None:
    served = client.get(f"/api/v1/recipes/{published_recipe().identifier}/").json()
    assert served["shuffler_signature"] is None

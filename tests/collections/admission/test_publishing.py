"""Publishing a recipe with tokens asks the issuer, and leaves nothing where that fails."""

import base64
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.db import IntegrityError, transaction
from django.test import Client
from django.utils import timezone

from admission.models import Issuance
from panprivacy.asked_admission import TokenAdmission
from panprivacy.errors import FieldError
from panprivacy.recipe import PublishedRecipe
from panprivacy.trust import Trust
from recipes.errors import PartnerUnavailableError
from recipes.models import IssuerSignature, Recipe, RecipeKey
from storage.signing_key import verification_key
from tests.collections.admission.scene import ISSUER_URL, RELAY_URL, FakeIssuer, token_recipe
from tests.collections.analyzer import scene as shuffled
from tests.collections.shuffler.scene import shuffle_members
from tests.collections.two_server import scene as two_servers
from tests.factories import draft_recipe, published_recipe, recipe_members
from tests.tokens import ISSUER_KEY
from trust_models.admitting import Admitting, admitting_here
from trust_models.publishing import recipe_publish, recipe_publish_file
from trust_models.review import review_of

pytestmark = pytest.mark.django_db


def assert_nothing_is_published() -> None:
    for model in (Recipe, RecipeKey, IssuerSignature, Issuance):
        assert not model.objects.exists()


def test_recipe_with_tokens_and_relay_is_served_as_a_device_verifies_it(client: Client) -> None:
    recipe = token_recipe(FakeIssuer(), relay=True)
    served = client.get(f"/api/v1/recipes/{recipe.identifier}/").json()
    read = PublishedRecipe.verified(
        served["document"],
        served["id"],
        base64.b64decode(served["signature"]),
        verification_key(),
        issuer_key=ISSUER_KEY.public_key(),
        issuer_signature=base64.b64decode(served["issuer_signature"]),
    )
    assert isinstance(read.admission, TokenAdmission)
    assert read.relay == RELAY_URL
    assert (served["helper_signature"], served["shuffler_signature"]) == (None, None)


def test_open_recipe_asks_no_issuer_and_has_no_signature_of_one(client: Client) -> None:
    served = client.get(f"/api/v1/recipes/{published_recipe().identifier}/").json()
    assert served["issuer_signature"] is None
    assert not Issuance.objects.exists()


@pytest.mark.parametrize("trust", [Trust.TWO_SERVER, Trust.SHUFFLER])
def test_other_servers_sign_the_same_document_as_the_issuer(trust: Trust) -> None:
    issuer = FakeIssuer()
    if trust == Trust.TWO_SERVER:
        members, partners = recipe_members(trust="two_server"), two_servers.partners()
    else:
        members, partners = shuffle_members(), shuffled.partners()
    recipe = recipe_publish_file(
        members={**members, "admission": "token"},
        actor=None,
        simulation=True,
        partners=partners,
        admitting=issuer.admitting(),
    )
    assert issuer.documents == {str(recipe.identifier): recipe.document}
    assert recipe.published.admission is not None


def test_every_recipe_has_a_key_of_its_own() -> None:
    issuer = FakeIssuer()
    keys = {token_recipe(issuer).published.admission for _ in range(2)}
    assert len(issuer.keys) == len(keys) == 2


# --- where there is no issuer, or no relay ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "setting"),
    [
        ({"admission": "token"}, "PANAPP_ISSUER_URL and PANAPP_ISSUER_KEY"),
        ({"relay": True}, "PANAPP_RELAY_URL"),
    ],
)
def test_publish_without_the_server_that_it_needs_names_the_setting(
    asked: dict[str, object], setting: str
) -> None:
    members = recipe_members(**asked)
    with pytest.raises(FieldError, match=setting) as refused:
        recipe_publish_file(members=members, actor=None)
    assert refused.value.field in asked
    assert_nothing_is_published()
    review = review_of(members, now=timezone.now())
    assert not review.publishable
    assert review.refusal is not None
    assert str(review.refusal) == str(refused.value)


def test_settings_name_issuer_and_relay(settings: Any) -> None:
    assert admitting_here() == Admitting(None, None)
    settings.ISSUER_URL, settings.ISSUER_KEY, settings.RELAY_URL = ISSUER_URL, bytes(32), RELAY_URL
    here = admitting_here()
    assert here.issuer is not None
    assert (here.issuer.url, here.issuer.verification_key, here.relay_url) == (
        ISSUER_URL,
        bytes(32),
        RELAY_URL,
    )
    assert review_of(recipe_members(admission="token", relay=True), now=timezone.now()).publishable


def test_reports_that_are_too_long_for_a_relay_are_refused_with_both_lengths() -> None:
    histogram = {"statistic": "histogram", "k": 500, "cohort_size": 1_000}
    with pytest.raises(FieldError, match=r"up to \d\d,\d\d\d bytes .* at most 32,768") as refused:
        token_recipe(FakeIssuer(), relay=True, **histogram)
    assert refused.value.field == "relay"
    assert_nothing_is_published()
    assert token_recipe(FakeIssuer(), relay=False, **histogram).status == Recipe.Status.PUBLISHED


# --- an issuer that does not answer, refuses, or lies -------------------------------------------------------


@pytest.mark.parametrize("fault", ["silent", "lost"])
@pytest.mark.parametrize("request_", ["POST /token-keys", "PUT /recipes"])
def test_publish_with_an_issuer_that_does_not_answer_leaves_the_draft_as_it_was(
    fault: str, request_: str
) -> None:
    issuer, draft = FakeIssuer(), draft_recipe(admission="token")
    content = draft.draft_hash
    setattr(issuer, fault, request_)
    with pytest.raises(PartnerUnavailableError, match=r"the issuer at .* did not answer.*try again later"):
        recipe_publish(recipe=draft, actor=None, admitting=issuer.admitting())
    draft.refresh_from_db()
    assert (draft.status, draft.draft_hash) == (Recipe.Status.DRAFT, content)
    assert not Issuance.objects.exists()
    setattr(issuer, fault, "")
    again = recipe_publish(recipe=draft, actor=None, admitting=issuer.admitting())
    assert again.status == Recipe.Status.PUBLISHED


def test_recipe_that_the_issuer_refuses_says_why() -> None:
    issuer = FakeIssuer()
    issuer.refusal = (400, "/problems/refused")
    with pytest.raises(FieldError, match=r"the issuer at .* refuses \(It may not be\.\)") as refused:
        token_recipe(issuer)
    assert refused.value.field == "admission"
    assert_nothing_is_published()


@pytest.mark.parametrize(
    "said",
    [
        {"token_key": ""},
        {"token_key": "AAAA"},
        {"token_key": None},
        {"issuer_name": "issuer.example/x"},
        {"attester_url": "attester.example"},
        {"signature": "no base64"},
        {"signature": base64.b64encode(bytes(64)).decode()},
        {"signature": None},
    ],
)
def test_answer_of_the_issuer_that_devices_would_refuse_publishes_nothing(said: dict[str, object]) -> None:
    issuer = FakeIssuer()
    issuer.said = said
    with pytest.raises(PartnerUnavailableError):
        token_recipe(issuer)
    assert_nothing_is_published()


def test_answers_that_another_than_the_issuer_signed_publish_nothing() -> None:
    issuer = FakeIssuer()
    issuer.signing_key = Ed25519PrivateKey.from_private_bytes(bytes(32))
    with pytest.raises(PartnerUnavailableError, match="does not sign as the issuer"):
        token_recipe(issuer)
    assert_nothing_is_published()


def test_what_the_issuer_signed_cannot_be_changed() -> None:
    token_recipe(FakeIssuer())
    with transaction.atomic(), pytest.raises(IntegrityError, match="what an issuer signed"):
        IssuerSignature.objects.update(signature=b"")

"""Recipes with tokens: the issuer is asked first, hears of the end, and says how many tokens it issued.

What holds for every partner: tests/collections/publishing/test_publication.py.
"""

import base64
from datetime import timedelta
from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone

from panprivacy.accounting.trust import Trust
from panprivacy.formats.errors import FieldError
from panprivacy.protocols.signed_count import IssuedTokens
from publishing.admission import Admitting, admitting_here
from publishing.publication import recipe_close, recipe_publish_file
from publishing.review import review_of
from recipes.errors import PartnerUnavailableError
from recipes.models import PartnerSignature, Recipe, RecipeKey
from tests.collections.publishing import scene as two_servers
from tests.collections.shuffle.analyzer import scene as shuffled
from tests.collections.shuffle.shuffler.scene import shuffle_members
from tests.collections.tokens.admission.scene import ISSUER_URL, RELAY_URL, FakeIssuer, token_recipe
from tests.factories import published_recipe, recipe_members
from tests.tokens import ISSUER_KEY
from tokens.admission.models import Issuance
from tokens.admission.operations import issuances_drive, issuances_take
from tokens.admission.selectors import issued_of, issuer_must_hear

pytestmark = pytest.mark.django_db


def assert_nothing_is_published() -> None:
    for model in (Recipe, RecipeKey, PartnerSignature, Issuance):
        assert not model.objects.exists()


@pytest.mark.parametrize("trust", [Trust.TWO_SERVER, Trust.JOINT_KEY, Trust.SHUFFLER])
def test_other_servers_sign_the_same_document_as_the_issuer(trust: Trust) -> None:
    issuer = FakeIssuer()
    if trust != Trust.SHUFFLER:
        members, partners = recipe_members(trust=trust.value), {trust: two_servers.partner()}
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


def test_settings_name_issuer_and_relay(settings: Any) -> None:
    assert admitting_here() == Admitting(None, None)
    settings.ISSUER_URL, settings.ISSUER_KEY, settings.RELAY_URL = ISSUER_URL, bytes(32), RELAY_URL
    here = admitting_here()
    assert here.issuer is not None
    named = (here.issuer.url, here.issuer.verification_key, here.relay_url)
    assert named == (ISSUER_URL, bytes(32), RELAY_URL)
    assert review_of(recipe_members(admission="token", relay=True), now=timezone.now()).publishable
    assert token_recipe(FakeIssuer(), relay=True).published.relay == RELAY_URL


def test_reports_too_long_for_a_relay_are_refused_with_both_lengths() -> None:
    histogram = {"statistic": "histogram", "k": 500, "cohort_size": 1_000}
    with pytest.raises(FieldError, match=r"up to \d\d,\d\d\d bytes .* at most 32,768") as refused:
        token_recipe(FakeIssuer(), relay=True, **histogram)
    assert refused.value.field == "relay"
    assert_nothing_is_published()
    assert token_recipe(FakeIssuer(), relay=False, **histogram).status == Recipe.Status.PUBLISHED


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


NOW = timezone.now()


def closed(issuer: FakeIssuer) -> Recipe:
    return recipe_close(recipe=token_recipe(issuer), actor=None)


def tell(issuer: FakeIssuer, *, after: timedelta = timedelta(minutes=10)) -> list[int]:
    now = timezone.now() + after
    taken = issuances_take(now=now)
    issuances_drive(taken=taken, now=now, transport=issuer)
    return taken


def test_issuer_is_told_of_no_open_recipe_and_of_none_without_tokens() -> None:
    issuer = FakeIssuer()
    recipe = token_recipe(issuer)
    recipe_close(recipe=published_recipe(), actor=None)
    assert tell(issuer) == []
    assert issued_of(recipe) is None
    assert not issuer_must_hear(recipe)


@pytest.mark.parametrize("issued", [1_234, 0])
def test_closed_recipe_has_the_signed_number_of_tokens(issued: int) -> None:
    issuer = FakeIssuer(issued=issued)
    recipe = closed(issuer)
    assert issuer_must_hear(recipe)
    tell(issuer)
    assert issuer.ended == [(recipe.identifier, "it was closed")]
    assert issued_of(recipe) == issued
    signature = bytes(Issuance.objects.get(recipe=recipe).signature)
    IssuedTokens(str(recipe.identifier), issued).verify(signature, ISSUER_KEY.public_key())
    assert not issuer_must_hear(recipe)
    assert tell(issuer, after=timedelta(days=1)) == []


@pytest.mark.parametrize("fault", ["silent", "lost"])
def test_issuer_that_did_not_answer_is_told_again_and_counts_once(fault: str) -> None:
    issuer = FakeIssuer()
    recipe = closed(issuer)
    setattr(issuer, fault, "POST /recipes")
    tell(issuer)
    row = Issuance.objects.get()
    assert issued_of(recipe) is None
    assert row.failing_since is not None
    assert "no answer" in row.last_error
    assert tell(issuer, after=timedelta(0)) == []
    setattr(issuer, fault, "")
    tell(issuer, after=timedelta(minutes=20))
    row.refresh_from_db()
    assert (row.issued, row.failing_since, row.last_error) == (7, None, "")


def test_issuer_that_is_silent_is_asked_once_for_all_recipes_of_one_task() -> None:
    issuer = FakeIssuer()
    recipes = [closed(issuer) for _ in range(3)]
    asked: list[str] = []

    def silent(method: str, url: str, headers: object, body: object) -> tuple[int, dict[str, str], bytes]:
        asked.append(url)
        raise TimeoutError

    now = timezone.now() + timedelta(minutes=10)
    issuances_drive(taken=issuances_take(now=now), now=now, transport=silent)
    assert len(asked) == 1
    assert all(issuer_must_hear(recipe) for recipe in recipes)
    assert Issuance.objects.filter(attempts=1).count() == 3


REFUSES = (409, "/problems/conflict")


@pytest.mark.parametrize(
    "answer", [REFUSES, {"issued": 8}, {"issued": -1}, {"issued": True}, {"issued": 2**60}, {"signature": ""}]
)
def test_issuer_that_refuses_or_does_not_sign_is_told_again(answer: Any) -> None:
    """Its key must go."""
    issuer = FakeIssuer()
    recipe = closed(issuer)
    if answer is REFUSES:
        issuer.refusal = answer
    else:
        issuer.said = answer
    tell(issuer)
    assert issued_of(recipe) is None
    assert issuer_must_hear(recipe)
    refused = "the issuer refuses: It may not be."
    assert (Issuance.objects.get().last_error == refused) == (answer is REFUSES)


def test_workers_that_tell_at_once_keep_the_first_number() -> None:
    issuer = FakeIssuer()
    recipe = closed(issuer)
    now = timezone.now() + timedelta(minutes=10)
    taken = issuances_take(now=now)
    assert issuances_take(now=now) == []  # leased
    issuances_drive(taken=taken, now=now, transport=issuer)
    issuer.issued = 9
    issuances_drive(taken=taken, now=now, transport=issuer)
    assert issued_of(recipe) == 7


def test_number_of_issued_tokens_cannot_be_changed() -> None:
    issuer = FakeIssuer()
    closed(issuer)
    tell(issuer)
    for change in (lambda rows: rows.update(issued=8), lambda rows: rows.delete()):
        with transaction.atomic(), pytest.raises(IntegrityError, match="the number of issued tokens"):
            change(Issuance.objects.all())

"""The issuer hears of the end, whatever is lost, and says how many tokens it issued."""

from datetime import timedelta

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone

from admission.models import Issuance
from admission.operations import issuance_end, issuances_drive, issuances_take
from admission.selectors import issued_count_of, issued_of, issuer_must_hear
from panprivacy.asked_admission import Admission
from panprivacy.signed_count import IssuedTokens
from recipes.models import Recipe
from tests.collections.admission.scene import FakeIssuer, token_recipe
from tests.factories import published_recipe
from tests.tokens import ISSUER_KEY
from trust_models.publishing import recipe_close

pytestmark = pytest.mark.django_db

NOW = timezone.now()


def closed(issuer: FakeIssuer) -> Recipe:
    return recipe_close(recipe=token_recipe(issuer), actor=None)


def tell(issuer: FakeIssuer, *, after: timedelta = timedelta(minutes=10)) -> list[int]:
    now = timezone.now() + after
    taken = issuances_take(now=now)
    issuances_drive(taken=taken, now=now, transport=issuer)
    return taken


def test_open_recipe_tells_the_issuer_nothing() -> None:
    issuer = FakeIssuer()
    recipe = token_recipe(issuer)
    assert tell(issuer) == []
    assert issued_of(recipe) is None
    assert not issuer_must_hear(recipe)


def test_closed_recipe_has_the_number_of_tokens_and_the_issuers_signature_of_it() -> None:
    issuer = FakeIssuer(issued=1_234)
    recipe = closed(issuer)
    assert issuer_must_hear(recipe)
    tell(issuer)
    assert issuer.ended == [(recipe.identifier, "it was closed")]
    assert issued_of(recipe) == 1_234
    count = issued_count_of(recipe)
    assert count is not None
    IssuedTokens(str(recipe.identifier), 1_234).verify(count.signature, ISSUER_KEY.public_key())
    assert not issuer_must_hear(recipe)
    assert tell(issuer, after=timedelta(days=1)) == []


def test_no_tokens_are_a_number_and_not_an_unknown_one() -> None:
    issuer = FakeIssuer(issued=0)
    recipe = closed(issuer)
    tell(issuer)
    assert issued_of(recipe) == 0
    assert issued_count_of(recipe) is not None


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


def test_issuer_that_refuses_is_told_again_for_its_key_must_go() -> None:
    issuer = FakeIssuer()
    recipe = closed(issuer)
    issuer.refusal = (409, "/problems/conflict")
    tell(issuer)
    assert issuer_must_hear(recipe)
    assert Issuance.objects.get().last_error == "the issuer refuses: It may not be."


@pytest.mark.parametrize(
    "said", [{"issued": 8}, {"issued": -1}, {"issued": True}, {"issued": 2**60}, {"signature": ""}]
)
def test_number_that_the_issuer_did_not_sign_is_not_taken(said: dict[str, object]) -> None:
    issuer = FakeIssuer()
    recipe = closed(issuer)
    issuer.said = said
    tell(issuer)
    assert issued_of(recipe) is None
    assert issuer_must_hear(recipe)


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


def test_end_of_a_recipe_without_tokens_is_told_to_nobody() -> None:
    recipe = recipe_close(recipe=published_recipe(), actor=None)
    issuance_end(recipe=recipe, reason="it was closed", now=timezone.now())
    assert issuances_take(now=timezone.now()) == []
    assert recipe.draft.get("admission", Admission.OPEN) == Admission.OPEN

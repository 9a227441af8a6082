"""Reports against tokens: results that fit, that are flagged, and that are held until somebody decides."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from accounts.api_tokens.operations import token_create
from log.audit.models import Entry
from panprivacy.accounting.rate_validation import Verdict
from panprivacy.accounting.trust import Trust
from panprivacy.statistics.events.count_nonzero import CountNonzero
from recipes.errors import RecipeStateError
from recipes.models import Recipe, RecipeKey
from results import rates
from results.exports import release_csv, release_document
from results.models import HeldResult, Release
from results.operations import result_release, result_withhold
from results.outcomes import Sum
from results.rates import result_allow
from results.trust_models import COLLECTIONS
from tests.collections.pages.scene import every_tab, recipe_page
from tests.collections.results.test_release_operations import collected
from tests.factories import published_recipe
from tests.page_text import page_text
from tests.scenes import account, analyst, released

pytestmark = pytest.mark.django_db

REPORTS = 6


@pytest.fixture
def tokens(monkeypatch: pytest.MonkeyPatch) -> Callable[[int | None], None]:
    """Recipes have tokens from now on, of which the issuer signed for so many."""

    def issued(number: int | None) -> None:
        monkeypatch.setattr(rates, "has_tokens", lambda recipe: True)
        monkeypatch.setattr(rates, "issued_of", lambda recipe: number)

    return issued


def bearer(user: User, scope: str) -> dict[str, str]:
    _, text = token_create(user=user, name="test", scopes=[scope], days=1, actor=None)
    return {"Authorization": f"Bearer {text}"}


def summed(**changes: Any) -> Recipe:
    return collected(1, 1, 0, 1, 0, 1, **changes)


@pytest.mark.parametrize(
    ("issued", "rate", "verdict"),
    [(6, 1, Verdict.FINE), (7, 1, Verdict.FLAGGED), (60, 0.1, Verdict.FINE), (1_000, 0.1, Verdict.FLAGGED)],
)
def test_result_says_whether_its_reports_fit_the_tokens(
    tokens: Any, issued: int, rate: float, verdict: Verdict, client: Client
) -> None:
    recipe, without = summed(sampling_rate=rate), released(summed())
    tokens(issued)
    release = released(recipe)
    told = release_document(release, None)["admission"]
    assert (told["issued"], told["accepted"], told["verdict"]) == (issued, REPORTS, verdict)
    assert (told["low"] <= REPORTS <= told["high"]) == (verdict is Verdict.FINE)
    lines = "".join(release_csv(recipe, release, None)).splitlines()
    first = dict(zip(lines[0].split(","), lines[1].split(","), strict=True))
    assert (first["tokens_issued"], first["tokens_verdict"]) == (str(issued), verdict.value)
    streamed = client.get(f"/api/v1/recipes/{recipe.identifier}/result/")
    answered = json.loads(b"".join(streamed.streaming_content))
    assert answered["admission"] == told
    page = page_text(client.get(f"/recipes/{recipe.identifier}/"))
    assert ("does not fit the tokens" in page) == (verdict is Verdict.FLAGGED)
    assert "Tokens issued" in recipe_page(client, recipe, "recipe-verify")
    assert release_document(without, None)["admission"] is None
    assert "Tokens issued" not in every_tab(client, without.recipe)


def test_result_waits_until_the_issuer_has_said_how_many_tokens_there_are(tokens: Any) -> None:
    recipe, withheld = summed(), summed()
    tokens(None)
    assert result_release(recipe=recipe) is None
    assert RecipeKey.objects.filter(recipe=recipe).exists()
    assert result_withhold(recipe=withheld, reason="the issuer is gone", actor=None).outcome == "withheld"
    tokens(REPORTS)
    assert result_release(recipe=recipe) is not None


@pytest.mark.parametrize("issued", [1, None])
def test_too_few_reports_are_withheld_whatever_the_tokens_say(tokens: Any, issued: int | None) -> None:
    recipe = collected(1, 1, 1, cohort_size=5)
    tokens(issued)
    release = released(recipe)
    assert (release.cause, release.admission) == (Release.Cause.TOO_FEW, None)
    assert not HeldResult.objects.exists()


def test_more_reports_than_tokens_hold_the_result_without_a_count(tokens: Any, client: Client) -> None:
    recipe, simulated = summed(), summed(simulation=True)
    tokens(5)
    assert result_release(recipe=simulated) is None
    assert rates.held_of(simulated) is not None
    for _ in range(2):  # a tick changes nothing that the one before did
        assert result_release(recipe=recipe) is None
    assert RecipeKey.objects.exists()
    entry = Entry.objects.get(action="result_held", subject=recipe.identifier)
    assert entry.details == {"issued": 5, "most": 5}
    address = f"/recipes/{recipe.identifier}/"
    told = client.get(f"/api/v1{address}held/").json()
    assert (told["issued"], told["expected"], told["allowed_at"]) == (5, 5.0, None)
    assert REPORTS not in told.values()
    page = page_text(client.get(address))
    assert "The result is held: more reports came than the tokens explain." in page
    assert "6 reports" not in every_tab(client, recipe)
    # From a page that was loaded before.
    assert client.get(f"{address}progress/", {"shown": "summing 5"}).headers["HX-Refresh"] == "true"


def test_held_result_that_an_administrator_allows_is_released(tokens: Any, client: Client) -> None:
    recipe, admin = summed(), account("root", is_superuser=True)
    tokens(5)
    result_release(recipe=recipe)
    address = f"/recipes/{recipe.identifier}/held/"
    client.force_login(analyst())
    assert client.get(address).status_code == 403
    client.force_login(admin)
    assert client.post(address, {"reason": " ", "decision": "release"}).status_code == 422
    client.post(address, {"reason": "one attester counts twice", "decision": "release"})
    again = result_allow(recipe=recipe, reason="one attester counts twice", actor=admin)
    assert again.allowed_at is not None
    with pytest.raises(RecipeStateError, match="already"):
        result_allow(recipe=recipe, reason="another reason", actor=admin)
    entry = Entry.objects.get(action="result_allowed")
    assert (entry.actor, entry.details) == ("root", {"reason": "one attester counts twice"})
    release = released(recipe)
    assert release.admission["verdict"] == "held"
    assert release.admission["allowed"] == "one attester counts twice"
    assert "an administrator let it pass" in page_text(client.get(f"/recipes/{recipe.identifier}/"))


def test_held_result_can_be_withheld_and_tells_nothing_of_its_reports(tokens: Any, client: Client) -> None:
    recipe = summed()
    tokens(5)
    result_release(recipe=recipe)
    client.force_login(account("root", is_superuser=True))
    client.post(f"/recipes/{recipe.identifier}/held/", {"reason": "made by somebody", "decision": "withhold"})
    release = Release.objects.get()
    assert (release.cause, release.reports, release.admission) == (Release.Cause.GIVEN_UP, None, None)
    assert not RecipeKey.objects.exists()
    assert client.get(f"/api/v1/recipes/{recipe.identifier}/held/").status_code == 404
    with pytest.raises(RecipeStateError, match="not held"):
        result_allow(recipe=recipe, reason="too late", actor=None)


def test_allowing_takes_a_reason_and_a_held_result(tokens: Any, client: Client) -> None:
    recipe = summed()
    address = f"/api/v1/recipes/{recipe.identifier}/held/"
    admin = bearer(account("root", is_superuser=True), "results:allow")
    body = {"data": {"reason": "why"}, "content_type": "application/json", "headers": admin}
    assert client.post(address, **body).status_code == 409
    tokens(5)
    result_release(recipe=recipe)
    for reason in ("", "x" * 201, "two\nlines"):
        answer = client.post(address, **{**body, "data": {"reason": reason}})
        assert (answer.status_code, answer.json()["field"]) == (400, "reason")
    assert client.post(address, **{**body, "data": {}}).status_code == 400
    for _ in range(2):
        answer = client.post(address, **body)
        assert (answer.status_code, answer.json()["allowed_reason"]) == (200, "why")
    assert Entry.objects.filter(action="result_allowed").count() == 1


def test_noise_in_the_number_of_reports_is_allowed_for(tokens: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """One report more than tokens is far within noise of scale √5/2, so nothing is held for it."""
    recipe = published_recipe(cohort_size=5)
    tokens(5)
    for noisy, verdict in ((False, Verdict.HELD), (True, Verdict.FINE)):
        monkeypatch.setattr(CountNonzero, "noisy_count", noisy)
        check = rates.check_of(recipe, Sum((4,), 6))
        assert check is not None
        assert check.verdict is verdict


def test_only_a_shuffler_takes_no_more_than_a_cohort() -> None:
    assert [trust for trust, model in COLLECTIONS.items() if model.takes_one_cohort] == [Trust.SHUFFLER]

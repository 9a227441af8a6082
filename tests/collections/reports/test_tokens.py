"""Reports of a recipe with tokens: one for each token, and none without."""

import random
from collections import Counter
from typing import Any

import pytest
from django.test import Client

from panprivacy.protocols.privacy_pass.tokens import Token
from panprivacy.recipe.token import report_nonce
from recipes.models import Recipe
from reports.models import ReportNonce
from tests.collections.reports.test_report_api import post_batch, post_one, rejections, stored
from tests.collections.tokens.admission.scene import FakeIssuer, token_recipe
from tests.factories import as_json, published_recipe, raw_reports_submit, report_of_count
from tests.tokens import issued_token

pytestmark = pytest.mark.django_db
SOURCE = random.Random(16)


def token_of(recipe: Recipe, seed: int = 0) -> Token:
    return issued_token(recipe.published, SOURCE, seed)


def report(recipe: Recipe, of: Token, **changes: Any) -> dict[str, Any]:
    """An honest report with this token, its fields as bytes."""
    honest = {**report_of_count(recipe, 1), "nonce": report_nonce(of), "token": of.encode()}
    return {**honest, **changes}


def test_token_lets_one_report_in_alone_or_in_a_batch(client: Client) -> None:
    recipe = token_recipe(FakeIssuer())
    one, other = (report(recipe, token_of(recipe)) for _ in range(2))
    assert post_one(client, recipe, as_json(one)).status_code == 201
    assert post_batch(client, recipe, [other]).json() == {"accepted": 1, "rejected": []}
    assert stored(recipe) == 2


def test_token_that_is_used_twice_counts_once(client: Client) -> None:
    recipe = token_recipe(FakeIssuer())
    token = token_of(recipe)
    answer = post_batch(client, recipe, [report(recipe, token) for _ in range(3)]).json()
    assert answer["accepted"] == 1
    assert {rejected["reason"] for rejected in answer["rejected"]} == {"duplicate_nonce"}
    again = post_batch(client, recipe, [report(recipe, token)]).json()
    assert (again["accepted"], again["rejected"][0]["reason"]) == (0, "duplicate_nonce")
    assert stored(recipe) == 1


def test_another_token_is_rejected_by_reason(client: Client) -> None:
    recipe = token_recipe(FakeIssuer())
    changes: list[tuple[dict[str, object], str]] = [
        ({"token": None}, "token_missing"),
        ({"token": b""}, "token_missing"),
        ({"token": bytes(354)}, "token_invalid"),
        ({"token": bytes(353)}, "token_invalid"),
        ({"token": bytes(100_000)}, "token_invalid"),
        ({"nonce": bytes(16)}, "token_invalid"),
        ({"nonce": bytes(12)}, "wrong_nonce_size"),
        ({"token": "no base64!"}, "malformed_report"),
        ({"token": [b""]}, "malformed_report"),
        ({"nonce": 7}, "malformed_report"),
    ]
    reasons = [reason for _, reason in changes]
    reports = [report(recipe, token_of(recipe), **change) for change, _ in changes]
    answer = post_batch(client, recipe, reports).json()
    assert [rejected["reason"] for rejected in answer["rejected"]] == reasons
    assert rejections(recipe) == Counter(reasons)
    assert stored(recipe) == ReportNonce.objects.count() == 0


def test_token_with_a_bit_changed_does_not_spoil_the_good_one(client: Client) -> None:
    recipe = token_recipe(FakeIssuer())
    token = token_of(recipe)
    for position in (0, 5, 20, 100, 353):
        changed = bytearray(token.encode())
        changed[position] ^= 1
        answer = post_batch(client, recipe, [report(recipe, token, token=bytes(changed))]).json()
        assert answer["rejected"][0]["reason"] == "token_invalid"
    assert post_batch(client, recipe, [report(recipe, token)]).json()["accepted"] == 1


def test_token_of_another_recipe_of_the_same_issuer_is_rejected(client: Client) -> None:
    issuer = FakeIssuer()
    recipe, other = token_recipe(issuer), token_recipe(issuer, name="Another")
    theirs = token_of(other, seed=1)
    answer = post_batch(client, recipe, [report(recipe, theirs)]).json()
    assert answer["rejected"][0]["reason"] == "token_of_another_recipe"
    assert answer["rejected"][0]["detail"] == "The token is of another recipe."


def test_open_recipe_refuses_a_token_as_any_unknown_member(client: Client) -> None:
    recipe = published_recipe()
    unknown = {**report_of_count(recipe, 1), "token": bytes(354)}
    assert post_batch(client, recipe, [unknown]).json()["rejected"][0]["reason"] == "malformed_report"


def test_tokens_are_verified_before_ciphertexts_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = token_recipe(FakeIssuer())

    def never(*_: object) -> None:
        raise AssertionError("a ciphertext was read")

    monkeypatch.setattr(type(recipe.published.public_key), "parse", never)
    bad = {"ciphertexts": [b""], "token": bytes(354)}
    flood = [{"nonce": bytes([number]) * 16, **bad} for number in range(3)]
    rejected = raw_reports_submit(recipe=recipe, reports=flood)
    assert [each.reason for each in rejected] == ["token_invalid"] * 3


def test_largest_batch_with_tokens_fits_its_body(client: Client) -> None:
    recipe = token_recipe(FakeIssuer())
    answer = post_batch(client, recipe, [report(recipe, token_of(recipe))] * 1_000)
    assert (answer.status_code, answer.json()["accepted"]) == (200, 1)

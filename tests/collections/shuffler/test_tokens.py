"""Tokens at the shuffler: one user for each, verified before any message is looked at."""

import random
from functools import partial
from typing import Any
from unittest.mock import Mock

import msgpack
import pytest
from django.utils import timezone

from panprivacy.encryption.elgamal import ElGamalPublicKey
from peers.shuffler_calls import ShuffledBatch, batch_ask
from shuffler.ending import batch_end
from shuffler.limits import largest_body
from shuffler.models import Rejection, Submission, SubmissionNonce
from tests.collections.shuffler.scene import Collection, at_once, peer
from tests.tokens import issued_token

SOURCE = random.Random(9578)


def token_collection(**changes: Any) -> Collection:
    return Collection(admission="token", **changes).registered()


def token_of(collection: Collection) -> bytes:
    return issued_token(collection.recipe, SOURCE).encode()


def body_of(collection: Collection, token: Any, **changes: Any) -> bytes:
    """What a device sends with this token; a change to None leaves the member out."""
    members = {
        "nonce": token[18:34] if isinstance(token, bytes) else bytes(16),
        "messages": collection.encrypted(collection.messages()),
        "token": token,
        **changes,
    }
    return msgpack.packb({name: value for name, value in members.items() if value is not None})


def refusal(collection: Collection, body: bytes) -> tuple[int, str, str]:
    answer = collection.post(body)
    return answer.status_code, answer.json()["type"], answer.json().get("reason", "")


@pytest.mark.django_db
def test_messages_with_a_token_count_once_whatever_else_is_sent_with_it() -> None:
    collection = token_collection()
    token = token_of(collection)
    for _ in range(2):
        body = body_of(collection, token)
        assert collection.post(body).status_code == 201
        assert len(body) <= largest_body(collection.recipe)
    assert collection.batch.users == Submission.objects.count() == 1


@pytest.mark.django_db
def test_bad_token_is_refused_by_its_reason_before_any_message_is_looked_at(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    collection, other = token_collection(), token_collection(name="Another")
    token = token_of(collection)
    bad = {
        "token_missing": body_of(collection, None, nonce=token[18:34]),
        "token_of_another_recipe": body_of(collection, token_of(other)),
    }
    invalid = [
        body_of(collection, token[:-1] + bytes([token[-1] ^ 1])),
        body_of(collection, token[:33] + bytes([token[33] ^ 1]) + token[34:]),
        body_of(collection, token, nonce=bytes(16)),
        body_of(collection, token[:-1]),
    ]
    parse = Mock()
    monkeypatch.setattr(ElGamalPublicKey, "parse", parse)
    for reason, body in [*bad.items(), *(("token_invalid", body) for body in invalid)]:
        assert refusal(collection, body) == (422, "/problems/report-rejected", reason)
    assert not parse.called
    assert not SubmissionNonce.objects.exists()
    counted = dict(collection.batch.rejections.values_list("reason", "count"))
    assert counted == {"token_missing": 1, "token_of_another_recipe": 1, "token_invalid": 4}


@pytest.mark.django_db
def test_counts_of_refused_tokens_are_handed_on_with_the_batch_and_deleted_with_it() -> None:
    collection = token_collection(cohort_size=2)
    collection.post(body_of(collection, None))
    for _ in range(2):
        assert collection.post(body_of(collection, token_of(collection))).status_code == 201
    # The batch is full: what comes now is not of it.
    collection.post(body_of(collection, None))
    batch = batch_ask(peer(), identifier=collection.identifier)
    assert isinstance(batch, ShuffledBatch)
    assert batch.rejected == {"token_missing": 1}
    batch_end(batch=collection.batch, reason="fetched", now=timezone.now())
    assert not Rejection.objects.exists()


@pytest.mark.django_db
def test_token_that_is_no_byte_string_or_comes_to_an_open_recipe_is_malformed() -> None:
    collection, open_recipe = token_collection(), Collection(name="Open").registered()
    malformed = (422, "/problems/malformed-messages", "")
    assert refusal(collection, body_of(collection, "text")) == malformed
    assert refusal(open_recipe, body_of(open_recipe, token_of(collection))) == malformed


@pytest.mark.django_db(transaction=True)
def test_devices_that_race_with_one_token_count_once() -> None:
    collection = token_collection()
    token = token_of(collection)
    bodies = [body_of(collection, token) for _ in range(3)]
    answers = at_once(*(partial(collection.post, body) for body in bodies))
    assert [answer.status_code for answer in answers] == [201] * 3
    assert collection.batch.users == Submission.objects.count() == 1

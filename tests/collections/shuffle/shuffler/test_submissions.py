"""What a shuffler takes in from devices, and what it does not."""

import random
from datetime import timedelta
from functools import partial
from typing import Any
from unittest.mock import Mock

import pytest
from django.test import Client
from django.utils import timezone

from panprivacy.encryption.elgamal import ElGamalPublicKey
from panprivacy.protocols.oblivious_http import capsules, keys
from panprivacy.protocols.oblivious_http.binary_http import Request, Response
from panprivacy.protocols.signed_count import ReleasedCount
from partners.shuffler_calls import ShuffledBatch, batch_ask, part_fetch
from shuffle.shuffler import submissions
from shuffle.shuffler.batch_ends import batch_end
from shuffle.shuffler.limits import largest_body
from shuffle.shuffler.models import Rejection, Submission, SubmissionNonce
from storage.signing_key import signing_key
from tests.collections.shuffle.shuffler.scene import Collection, body_of, peer
from tests.concurrency import at_once
from tests.memory import peak_of
from tests.tokens import issued_token

pytestmark = pytest.mark.django_db


class TestHonestDevices:
    def test_messages_are_stored_rerandomized_and_still_say_the_same(self) -> None:
        collection = Collection().registered()
        messages = collection.messages(1)
        ciphertexts = collection.encrypted(messages)
        answer = collection.send(ciphertexts)
        assert (answer.status_code, answer.json()) == (201, {"status": "accepted"})
        stored = bytes(Submission.objects.get().payload)
        assert not any(ciphertext in stored for ciphertext in ciphertexts)
        assert collection.decrypted(stored) == messages

    def test_messages_sent_again_are_accepted_and_count_once(self) -> None:
        collection = Collection().registered()
        ciphertexts = collection.encrypted(collection.messages())
        for _ in range(3):
            assert collection.send(ciphertexts, nonce=bytes(16)).status_code == 201
        assert collection.batch.users == Submission.objects.count() == SubmissionNonce.objects.count() == 1

    def test_batch_takes_exactly_its_number_of_users(self) -> None:
        collection = Collection(cohort_size=3).registered()
        collection.send(nonce=bytes(16))
        collection.send()
        assert collection.send().status_code == 201
        for _ in range(2):
            answer = collection.send()
            assert (answer.status_code, answer.json()["type"]) == (409, "/problems/batch-full")
        assert collection.batch.users == Submission.objects.count() == 3
        # One that was counted, and did not hear of it.
        assert collection.send(nonce=bytes(16)).status_code == 201

    def test_batch_that_filled_up_meanwhile_stays_exactly_full(self, monkeypatch: pytest.MonkeyPatch) -> None:
        collection = Collection(cohort_size=2).registered()
        collection.send()
        rerandomized = submissions._rerandomized

        def slowly(*arguments: Any) -> bytes:
            monkeypatch.setattr(submissions, "_rerandomized", rerandomized)
            assert collection.send().status_code == 201
            return rerandomized(*arguments)

        monkeypatch.setattr(submissions, "_rerandomized", slowly)
        assert collection.send().json()["type"] == "/problems/batch-full"
        assert Submission.objects.count() == 2

    @pytest.mark.parametrize(("days", "status"), [(-1, 409), (0, 201), (40, 409)])
    def test_messages_are_taken_within_the_times_of_a_recipe_only(
        self, monkeypatch: pytest.MonkeyPatch, days: int, status: int
    ) -> None:
        collection = Collection(simulation=False).registered()
        now = timezone.now() + timedelta(days=days)
        monkeypatch.setattr("shuffle.shuffler.views.timezone.now", lambda: now)
        answer = collection.send()
        problem = "/problems/recipe-not-open" if status == 409 else None
        assert (answer.status_code, answer.json().get("type")) == (status, problem)
        assert Submission.objects.exists() == (status == 201)


class TestHostileBodies:
    def refused(self, collection: Collection, body: Any, status: int, kind: str) -> None:
        encoded = body if isinstance(body, bytes) else body_of(body)
        answer = collection.post(encoded)
        assert (answer.status_code, answer.json()["type"]) == (status, f"/problems/{kind}")
        assert not Submission.objects.exists()
        assert not SubmissionNonce.objects.exists()
        assert collection.batch.users == 0

    @pytest.mark.parametrize("body", [b"{", b"null", b"[" * 3_000, b"{}", b"[]", b"\x80"])
    def test_body_that_is_no_submission_is_refused(self, body: bytes) -> None:
        self.refused(Collection(k=100).registered(), body, 422, "malformed-messages")

    @pytest.mark.parametrize(
        ("change", "says"),
        [
            ({"device": "me"}, "fields nonce and messages"),
            ({"messages": None}, "fields nonce and messages"),
            ({"nonce": None}, "fields nonce and messages"),
            ({"nonce": None, "name": bytes(16)}, "fields nonce and messages"),
            ({"nonce": None, "": bytes(16)}, "fields nonce and messages"),
            ({"nonce": bytes(15)}, "nonce must be 16 bytes in base64"),
            ({"nonce": bytes(17)}, "nonce must be 16 bytes"),
            ({"nonce": "0" * 16}, "nonce must be 16 bytes in base64"),
            ({"nonce": "\u0661" * 24}, "not plain ASCII"),
            ({"nonce": 16}, "nonce must be 16 bytes in base64"),
            ({"messages": b""}, "a list of texts in base64"),
            ({"messages": {}}, "a list of texts in base64"),
            ({"messages": [1]}, "each of messages must be base64"),
            ({"messages": ["text!"]}, "each of messages must be base64"),
            ({"messages": [[]]}, "too many objects and lists"),
        ],
    )
    def test_body_wrong_in_one_thing_is_told_which(self, change: dict[Any, Any], says: str) -> None:
        collection = Collection().registered()
        honest = {"nonce": bytes(16), "messages": collection.encrypted(collection.messages())}
        body = {name: value for name, value in {**honest, **change}.items() if value is not None}
        if isinstance(change.get("messages"), list):
            # Beside honest ones: their number is as it must be.
            body["messages"] = [*honest["messages"][1:], *change["messages"]]
        self.refused(collection, body, 422, "malformed-messages")
        assert says in collection.post(body_of(body)).json()["detail"]
        assert collection.post(body_of(honest)).status_code == 201

    @pytest.mark.parametrize(
        ("changes", "expected"),
        [
            ({"k": 40}, "exactly"),
            ({"statistic": "shuffle_histogram", "epsilon": 5.0, "cohort_size": 200}, "exactly 4 messages"),
            ({"statistic": "uniformity", "epsilon": 5.0, "alpha": 1.0, "cohort_size": 400}, "2 to "),
        ],
    )
    def test_other_number_of_messages_is_refused(self, changes: dict[str, Any], expected: str) -> None:
        collection = Collection(**changes).registered()
        fewest, most = collection.statistic.fewest_messages, collection.statistic.most_messages
        (ciphertext,) = collection.encrypted([0])
        for number in (0, 1, fewest - 1, most + 1):
            body = {"nonce": bytes(16), "messages": [ciphertext] * number}
            self.refused(collection, body, 422, "malformed-messages")
            assert expected in collection.post(body_of(body)).json()["detail"]
        for number in (fewest, most):
            assert collection.send([ciphertext] * number).status_code == 201
        assert collection.batch.users == 2

    def test_lists_of_lists_are_refused_before_they_are_built(self) -> None:
        collection = Collection(k=1_000).registered()
        most = collection.statistic.most_messages
        lists = b"[" + b"[]," * most + b"[]]"
        body = b'{"nonce": "", "messages": [' + b",".join([lists] * 20) + b"]}"
        answer, peak = peak_of(lambda: collection.post(body))
        assert (answer.status_code, answer.json()["type"]) == (422, "/problems/malformed-messages")
        # Built, they take 60 bytes each.
        assert most > 1_000
        assert peak < 20 * 60 * most

    @pytest.mark.parametrize("bad", [b"", bytes(66), bytes(65), b"\x02" + b"\xff" * 65, b"\x04" * 66])
    def test_one_point_that_is_not_on_the_curve_takes_all_messages_down(self, bad: bytes) -> None:
        collection = Collection().registered()
        messages = [*collection.encrypted(collection.messages())[1:], bad]
        self.refused(collection, {"nonce": bytes(16), "messages": messages}, 422, "invalid-ciphertext")

    def test_bad_last_message_is_refused_before_rerandomizing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        collection = Collection(k=50).registered()
        honest = collection.encrypted(collection.messages())
        costly: list[Any] = []
        key_type = type(collection.recipe.public_key)
        rerandomize = key_type.rerandomize

        def counted(*arguments: Any) -> Any:
            costly.append(arguments)
            return rerandomize(*arguments)

        monkeypatch.setattr(key_type, "rerandomize", counted)
        messages = [*honest[1:], b"\x02" + b"\xff" * 65]
        self.refused(collection, {"nonce": bytes(16), "messages": messages}, 422, "invalid-ciphertext")
        assert costly == []
        assert collection.send(honest).status_code == 201
        assert len(costly) == len(honest) > 1

    def test_other_requests_than_posts_of_json_are_refused(self) -> None:
        collection = Collection().registered()
        for content_type in ("application/msgpack", ""):
            assert collection.post(b"{}", content_type).status_code == 415
        assert collection.post(b"{}", headers={"Transfer-Encoding": "chunked"}).status_code == 411
        other = Client().get(f"/shuffler/recipes/{collection.identifier}/messages")
        assert (other.status_code, other["Allow"]) == (405, "POST")
        assert Collection().send().json()["type"] == "/problems/unrecognized-recipe"

    def test_larger_body_than_any_honest_one_is_refused_before_it_is_read(self) -> None:
        collection = Collection().registered()
        self.refused(collection, bytes(largest_body(collection.recipe) + 1), 413, "body-too-large")


class TestBatch:
    def test_batch_holds_every_message_once(self) -> None:
        collection = Collection(cohort_size=4, k=3).registered()
        sent = collection.fill([0, 1, 1, 2])
        together = b"".join(bytes(row.payload) for row in Submission.objects.order_by("pk"))
        batch = batch_ask(peer(), identifier=collection.identifier)
        signature = ReleasedCount(collection.identifier, 4).sign(signing_key())
        assert batch == ShuffledBatch(4, len(sent), 1, signature, {})
        part = part_fetch(peer(), identifier=collection.identifier, number=0)
        assert sorted(collection.decrypted(part)) == sorted(sent)
        # One order in (number of messages)! is the old one: at most 1 in 12!.
        assert len(sent) >= 12
        assert part != together
        assert not Submission.objects.exists()
        assert batch_ask(peer(), identifier=collection.identifier) == batch
        assert part_fetch(peer(), identifier=collection.identifier, number=0) == part

    def test_batch_is_split_into_parts_of_whole_ciphertexts(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("shuffle.shuffler.shuffled_batch.PART_BYTES", 200)
        collection = Collection(cohort_size=2).registered()
        sent = collection.fill()
        batch = batch_ask(peer(), identifier=collection.identifier)
        assert isinstance(batch, ShuffledBatch)
        assert batch.parts == -(-len(sent) // 3)
        parts = [part_fetch(peer(), identifier=collection.identifier, number=n) for n in range(batch.parts)]
        assert all(len(part) <= 198 for part in parts)
        assert sorted(collection.decrypted(b"".join(parts))) == sorted(sent)


@pytest.mark.django_db(transaction=True)
def test_more_devices_than_fit_at_once_fill_the_batch_exactly() -> None:
    collection = Collection(cohort_size=4).registered()
    ciphertexts = collection.encrypted(collection.messages())
    bodies = [body_of({"nonce": bytes([n // 2]) * 16, "messages": ciphertexts}) for n in range(12)]
    answers = at_once(*(partial(collection.post, body) for body in bodies))
    # Six devices, each of which sends twice at once: whatever one is answered, the other is answered too.
    statuses = [answer.status_code for answer in answers]
    assert sorted(statuses) == [201] * 8 + [409] * 4
    assert statuses[::2] == statuses[1::2]
    assert Submission.objects.count() == collection.batch.users == 4


@pytest.mark.django_db(transaction=True)
def test_batch_asked_for_by_several_workers_at_once_is_shuffled_once() -> None:
    collection = Collection(cohort_size=2).registered()
    sent = collection.fill()
    ask = partial(batch_ask, peer(), identifier=collection.identifier)
    signature = ReleasedCount(collection.identifier, 2).sign(signing_key())
    assert at_once(*[ask] * 4) == [ShuffledBatch(2, len(sent), 1, signature, {})] * 4
    assert not Submission.objects.exists()


ADDRESS = "/.well-known/ohttp-gateway"
CAPSULES = random.Random(9458)


def asked(method: bytes, path: str, content: bytes = b"") -> Response:
    config, *_ = keys.decode_list(Client().get(ADDRESS).content)
    fields = ((b"content-type", b"application/json"),)
    request = Request(method, b"https", b"shuffler.test", path.encode(), fields, content)
    capsule, context = capsules.seal(config, request.encode(), CAPSULES)
    answer = Client().post(ADDRESS, capsule, content_type=capsules.REQUEST_MEDIA_TYPE)
    return Response.decode(context.open(answer.content))


def test_capsule_takes_messages_once_and_hands_out_no_batch() -> None:
    collection = Collection().registered()
    path = f"/shuffler/recipes/{collection.identifier}"
    body = body_of({"nonce": bytes(16), "messages": collection.encrypted(collection.messages())})
    assert [asked(b"POST", f"{path}/messages", body).status for _ in range(2)] == [201, 201]
    assert collection.batch.users == 1
    assert {asked(b"GET", f"{path}{rest}").status for rest in ("", "/batch", "/batch/0")} == {404}


SOURCE = random.Random(9578)


def token_collection(**changes: Any) -> Collection:
    return Collection(admission="token", **changes).registered()


def token_of(collection: Collection) -> bytes:
    return issued_token(collection.recipe, SOURCE).encode()


def with_token(collection: Collection, token: Any, **changes: Any) -> bytes:
    """What a device sends with this token; a change to None leaves the member out."""
    members = {
        "nonce": token[18:34] if isinstance(token, bytes) else bytes(16),
        "messages": collection.encrypted(collection.messages()),
        "token": token,
        **changes,
    }
    return body_of({name: value for name, value in members.items() if value is not None})


def refusal(collection: Collection, body: bytes) -> tuple[int, str, str]:
    answer = collection.post(body)
    return answer.status_code, answer.json()["type"], answer.json().get("reason", "")


def test_messages_with_a_token_count_once_whatever_else_is_sent_with_it() -> None:
    collection = token_collection()
    token = token_of(collection)
    for _ in range(2):
        body = with_token(collection, token)
        assert collection.post(body).status_code == 201
        assert len(body) <= largest_body(collection.recipe)
    assert collection.batch.users == Submission.objects.count() == 1


def test_bad_token_is_refused_before_any_message_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    collection, other = token_collection(), token_collection(name="Another")
    token = token_of(collection)
    bad = {
        "token_missing": with_token(collection, None, nonce=token[18:34]),
        "token_of_another_recipe": with_token(collection, token_of(other)),
    }
    invalid = [
        with_token(collection, token[:-1] + bytes([token[-1] ^ 1])),
        with_token(collection, token[:33] + bytes([token[33] ^ 1]) + token[34:]),
        with_token(collection, token, nonce=bytes(16)),
        with_token(collection, token[:-1]),
    ]
    parse = Mock()
    monkeypatch.setattr(ElGamalPublicKey, "parse", parse)
    for reason, body in [*bad.items(), *(("token_invalid", body) for body in invalid)]:
        assert refusal(collection, body) == (422, "/problems/report-rejected", reason)
    assert not parse.called
    assert not SubmissionNonce.objects.exists()
    counted = dict(collection.batch.rejections.values_list("reason", "count"))
    assert counted == {"token_missing": 1, "token_of_another_recipe": 1, "token_invalid": 4}


def test_counts_of_refused_tokens_go_with_the_batch() -> None:
    collection = token_collection(cohort_size=2)
    collection.post(with_token(collection, None))
    for _ in range(2):
        assert collection.post(with_token(collection, token_of(collection))).status_code == 201
    # The batch is full: what comes now is not of it.
    collection.post(with_token(collection, None))
    batch = batch_ask(peer(), identifier=collection.identifier)
    assert isinstance(batch, ShuffledBatch)
    assert batch.rejected == {"token_missing": 1}
    batch_end(batch=collection.batch, reason="fetched", now=timezone.now())
    assert not Rejection.objects.exists()


def test_token_that_is_no_base64_or_for_an_open_recipe_is_malformed() -> None:
    collection, open_recipe = token_collection(), Collection(name="Open").registered()
    malformed = (422, "/problems/malformed-messages", "")
    assert refusal(collection, with_token(collection, "no base64!")) == malformed
    assert refusal(open_recipe, with_token(open_recipe, token_of(collection))) == malformed


@pytest.mark.django_db(transaction=True)
def test_devices_that_race_with_one_token_count_once() -> None:
    collection = token_collection()
    token = token_of(collection)
    bodies = [with_token(collection, token) for _ in range(3)]
    answers = at_once(*(partial(collection.post, body) for body in bodies))
    assert [answer.status_code for answer in answers] == [201] * 3
    assert collection.batch.users == Submission.objects.count() == 1

"""What a shuffler takes in from devices, and what it does not."""

from datetime import timedelta
from typing import Any

import msgpack
import pytest
from django.test import Client
from django.utils import timezone

from panprivacy.signed_count import ReleasedCount
from peers.shuffler_calls import NotFull, ShuffledBatch, batch_ask, part_fetch
from shuffler import receiving
from shuffler.limits import largest_body
from shuffler.models import Submission, SubmissionNonce
from storage.signing_key import signing_key
from tests.collections.shuffler.scene import Collection, peer
from tests.memory import peak_of


@pytest.mark.django_db
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

    def test_batch_takes_exactly_its_number_of_users_and_says_full_to_everybody_else(self) -> None:
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

    def test_batch_that_filled_up_while_messages_were_rerandomized_stays_exactly_full(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        collection = Collection(cohort_size=2).registered()
        collection.send()
        rerandomized = receiving._rerandomized

        def slowly(*arguments: Any) -> bytes:
            monkeypatch.setattr(receiving, "_rerandomized", rerandomized)
            assert collection.send().status_code == 201
            return rerandomized(*arguments)

        monkeypatch.setattr(receiving, "_rerandomized", slowly)
        assert collection.send().json()["type"] == "/problems/batch-full"
        assert Submission.objects.count() == 2

    def test_users_whose_number_of_messages_is_random_may_send_the_fewest_or_the_most(self) -> None:
        collection = Collection(statistic="uniformity", epsilon=5.0, alpha=1.0, cohort_size=400).registered()
        fewest, most = collection.statistic.fewest_messages, collection.statistic.most_messages
        assert fewest == 2 < most
        for number in (fewest, most):
            assert collection.send(collection.encrypted([0]) * number).status_code == 201
        assert collection.batch.users == 2


@pytest.mark.django_db
class TestTimes:
    @pytest.mark.parametrize("days", [-1, 40])
    def test_messages_before_the_opening_and_after_the_closing_are_refused(
        self, monkeypatch: pytest.MonkeyPatch, days: int
    ) -> None:
        collection = Collection(simulation=False).registered()
        now = timezone.now() + timedelta(days=days)
        monkeypatch.setattr("shuffler.views.timezone.now", lambda: now)
        answer = collection.send()
        assert (answer.status_code, answer.json()["type"]) == (409, "/problems/recipe-not-open")
        assert not Submission.objects.exists()

    def test_messages_of_real_devices_are_accepted_within_the_times(self) -> None:
        assert Collection(simulation=False).registered().send().status_code == 201


@pytest.mark.django_db
class TestHostileBodies:
    def refused(self, collection: Collection, body: Any, status: int, kind: str) -> None:
        packed = body if isinstance(body, bytes) else msgpack.packb(body)
        answer = collection.post(packed)
        assert (answer.status_code, answer.json()["type"]) == (status, f"/problems/{kind}")
        assert not Submission.objects.exists()
        assert not SubmissionNonce.objects.exists()
        assert collection.batch.users == 0

    @pytest.mark.parametrize("body", [b"\xc0", b"\xc1", b"\x93" * 3_000, b"{}", b"\x90", b"\x80"])
    def test_body_that_is_no_submission_is_refused(self, body: bytes) -> None:
        self.refused(Collection(k=100).registered(), body, 422, "malformed-messages")

    @pytest.mark.parametrize(
        ("change", "says"),
        [
            ({"device": "me"}, "members nonce and messages"),
            ({"messages": None}, "members nonce and messages"),
            ({"nonce": None}, "members nonce and messages"),
            ({"nonce": None, "name": bytes(16)}, "members nonce and messages"),
            ({"nonce": None, 1: bytes(16)}, "must be MessagePack"),
            ({"nonce": bytes(15)}, "nonce must be 16 bytes"),
            ({"nonce": bytes(17)}, "nonce must be 16 bytes"),
            ({"nonce": "0" * 16}, "nonce must be 16 bytes"),
            ({"messages": b""}, "a list of byte strings"),
            ({"messages": {}}, "a list of byte strings"),
            ({"messages": [1]}, "a list of byte strings"),
            ({"messages": ["text"]}, "a list of byte strings"),
            ({"messages": [[]]}, "must be MessagePack"),
        ],
    )
    def test_body_that_is_wrong_in_one_thing_is_refused_and_told_in_which(
        self, change: dict[Any, Any], says: str
    ) -> None:
        collection = Collection().registered()
        honest = {"nonce": bytes(16), "messages": collection.encrypted(collection.messages())}
        body = {name: value for name, value in {**honest, **change}.items() if value is not None}
        if isinstance(change.get("messages"), list):
            # Beside honest ones: their number is as it must be.
            body["messages"] = [*honest["messages"][1:], *change["messages"]]
        self.refused(collection, body, 422, "malformed-messages")
        assert says in collection.post(msgpack.packb(body)).json()["detail"]
        assert collection.post(msgpack.packb(honest)).status_code == 201

    @pytest.mark.parametrize(
        ("changes", "expected"),
        [
            ({}, "exactly"),
            ({"statistic": "shuffle_histogram", "epsilon": 5.0, "cohort_size": 200}, "exactly 4 messages"),
            ({"statistic": "uniformity", "epsilon": 5.0, "alpha": 1.0, "cohort_size": 400}, "2 to "),
        ],
    )
    def test_another_number_of_messages_than_the_protocol_makes_is_refused_and_named(
        self, changes: dict[str, Any], expected: str
    ) -> None:
        collection = Collection(**changes).registered()
        fewest, most = collection.statistic.fewest_messages, collection.statistic.most_messages
        (ciphertext,) = collection.encrypted([0])
        for number in (0, 1, fewest - 1, most + 1):
            body = {"nonce": bytes(16), "messages": [ciphertext] * number}
            self.refused(collection, body, 422, "malformed-messages")
            assert expected in collection.post(msgpack.packb(body)).json()["detail"]

    def test_lists_of_lists_are_refused_before_they_are_built(self) -> None:
        collection = Collection(k=1_000).registered()
        most = collection.statistic.most_messages
        lists = b"\xdc\x00\x3c" + (b"\xdc" + most.to_bytes(2) + b"\x90" * most) * 60
        packed = b"\x82" + msgpack.packb("nonce") + msgpack.packb(bytes(16)) + msgpack.packb("messages")
        answer, peak = peak_of(lambda: collection.post(packed + lists))
        assert (answer.status_code, answer.json()["type"]) == (422, "/problems/malformed-messages")
        # Built, they take 60 bytes each.
        assert most > 1_000
        assert peak < 20 * 60 * most

    @pytest.mark.parametrize("bad", [b"", bytes(66), bytes(65), b"\x02" + b"\xff" * 65, b"\x04" * 66])
    def test_one_point_that_is_not_on_the_curve_takes_all_messages_down(self, bad: bytes) -> None:
        collection = Collection().registered()
        messages = [*collection.encrypted(collection.messages())[1:], bad]
        self.refused(collection, {"nonce": bytes(16), "messages": messages}, 422, "invalid-ciphertext")

    def test_bad_message_at_the_end_is_refused_before_any_is_rerandomized(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
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

    def test_larger_body_than_any_honest_one_is_refused_before_it_is_read(self) -> None:
        collection = Collection().registered()
        self.refused(collection, bytes(largest_body(collection.recipe) + 1), 413, "body-too-large")

    def test_largest_honest_body_fits(self) -> None:
        collection = Collection(k=40).registered()
        messages = collection.encrypted([0]) * collection.statistic.most_messages
        assert collection.send(messages).status_code == 201

    def test_other_media_types_and_methods_are_refused(self) -> None:
        collection = Collection().registered()
        assert collection.post(b"{}", "application/json").status_code == 415
        answer = collection.post(b"", "")
        assert answer.status_code == 415
        other = Client().get(f"/shuffler/recipes/{collection.identifier}/messages")
        assert (other.status_code, other["Allow"]) == (405, "POST")

    def test_chunked_body_is_refused(self) -> None:
        collection = Collection().registered()
        answer = collection.post(b"\x80", headers={"Transfer-Encoding": "chunked"})
        assert answer.status_code == 411

    def test_unknown_recipe_is_refused(self) -> None:
        assert Collection().send().json()["type"] == "/problems/unrecognized-recipe"


@pytest.mark.django_db
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

    def test_batch_asked_for_again_is_the_same_bytes(self) -> None:
        collection = Collection(cohort_size=2).registered()
        collection.fill()
        parts = []
        for _ in range(2):
            batch_ask(peer(), identifier=collection.identifier)
            parts.append(part_fetch(peer(), identifier=collection.identifier, number=0))
        assert parts[0] == parts[1]

    def test_batch_that_is_not_full_is_not_handed_out_and_told_in_coarse_steps(self) -> None:
        collection = Collection(cohort_size=30, k=2).registered()
        for _ in range(11):
            collection.send()
        assert batch_ask(peer(), identifier=collection.identifier) == NotFull(10)
        assert Submission.objects.count() == 11

    def test_batch_is_split_into_parts_of_whole_ciphertexts(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("shuffler.mixing.PART_BYTES", 200)
        collection = Collection(cohort_size=2).registered()
        sent = collection.fill()
        batch = batch_ask(peer(), identifier=collection.identifier)
        assert isinstance(batch, ShuffledBatch)
        assert batch.parts == -(-len(sent) // 3)
        parts = [part_fetch(peer(), identifier=collection.identifier, number=n) for n in range(batch.parts)]
        assert all(len(part) <= 198 for part in parts)
        assert sorted(collection.decrypted(b"".join(parts))) == sorted(sent)

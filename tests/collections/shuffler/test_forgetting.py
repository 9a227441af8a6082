"""What a shuffler keeps of devices, and that nothing is left of it in the end."""

import json
import logging
import secrets
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import OperationalError, connection
from django.test import Client
from django.utils import timezone

from audit.models import Entry
from panapp.roles import role_named
from peers.client import PeerRefusedError
from peers.shuffler_calls import NotFull, batch_ask, batch_delete, part_fetch
from shuffler.ending import upkeep
from shuffler.models import Batch, Part, Submission, SubmissionNonce
from shuffler.status import status
from tests.collections.shuffler.scene import Collection, peer
from tests.file_content import content_of
from tests.unreadable import make_unreadable

ADDRESS, AGENT = "198.51.100.77", "tell-tale-agent"
DEVICE = {"REMOTE_ADDR": ADDRESS, "HTTP_USER_AGENT": AGENT, "HTTP_X_FORWARDED_FOR": ADDRESS}


def database_files() -> dict[str, bytes]:
    path = Path(connection.settings_dict["NAME"])
    files = [path.with_name(path.name + suffix) for suffix in ("", "-wal")]
    return {file.name: content_of(file) for file in files if file.exists()}


def assert_nowhere(pieces: list[bytes]) -> None:
    for name, content in database_files().items():
        for piece in pieces:
            assert piece not in content, name


def stored_bytes() -> list[bytes]:
    """Pieces of everything that is stored of devices now: of every row, wherever a page may have split it."""
    payloads = [
        *Submission.objects.values_list("payload", flat=True),
        *Part.objects.values_list("payload", flat=True),
    ]
    nonces = SubmissionNonce.objects.values_list("nonce", flat=True)
    return [bytes(p)[at : at + 33] for p in payloads for at in range(0, len(p), 66)] + [*map(bytes, nonces)]


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif("connection.vendor != 'sqlite'", reason="PostgreSQL keeps files of its own")
class TestFiles:
    def test_neither_ciphertexts_nor_nonces_are_in_the_database_once_the_batch_is_deleted(self) -> None:
        collection = Collection(cohort_size=4, k=20).registered()
        collection.fill()
        before = stored_bytes()
        assert any(before[0] in content for content in database_files().values())
        batch_ask(peer(), identifier=collection.identifier)
        shuffled = stored_bytes()
        batch_delete(peer(), identifier=collection.identifier, reason="fetched")
        assert stored_bytes() == []
        assert_nowhere([*before, *shuffled])

    def test_neither_is_left_of_a_batch_that_was_never_full(self) -> None:
        collection = Collection(cohort_size=4, k=20).registered()
        collection.fill([0])
        before = stored_bytes()
        assert any(before[0] in content for content in database_files().values())
        batch_delete(peer(), identifier=collection.identifier, reason="closed")
        assert_nowhere(before)

    def test_what_came_over_the_network_is_never_stored_nor_who_sent_it(self) -> None:
        collection = Collection(cohort_size=3).registered()
        ciphertexts = collection.encrypted(collection.messages())
        assert collection.send(ciphertexts, **DEVICE).status_code == 201
        assert_nowhere([*ciphertexts, ADDRESS.encode(), AGENT.encode()])


@pytest.mark.django_db
class TestRows:
    def test_no_row_about_a_device_has_a_time_a_count_or_an_order(self) -> None:
        for model in (Submission, SubmissionNonce):
            names = {field.name for field in model._meta.concrete_fields}
            assert names <= {"id", "batch", "payload", "nonce"}
        collection = Collection(cohort_size=20, k=2).registered()
        nonces = [bytes([number] * 16) for number in range(12)]
        for nonce in nonces:
            assert collection.send(nonce=nonce).status_code == 201
        for model in (Submission, SubmissionNonce):
            keys = list(model.objects.values_list("pk", flat=True))
            # Of 62 random bits: all below 2^40 with probability 2^-264.
            assert max(keys) > 2**40
            if connection.vendor == "sqlite":
                # What SQLite itself orders rows by is that random key, and no number that counts.
                with connection.cursor() as cursor:
                    cursor.execute(f"SELECT rowid FROM {model._meta.db_table}")
                    assert {rowid for (rowid,) in cursor.fetchall()} == set(keys)
        # By chance they lie in the order in which they came with probability 1/12!, or 3e-9.
        by_key = SubmissionNonce.objects.order_by("pk").values_list("nonce", flat=True)
        assert [bytes(nonce) for nonce in by_key] != nonces

    def test_batch_that_has_ended_leaves_a_row_that_tells_nothing_of_devices(self) -> None:
        collection = Collection(cohort_size=30, k=2).registered()
        collection.fill([0] * 5)
        batch_delete(peer(), identifier=collection.identifier, reason="closed")
        batch = collection.batch
        assert (batch.state, batch.users, batch.messages) == (Batch.State.ENDED, 0, None)
        for model in (Submission, SubmissionNonce, Part):
            assert not model.objects.exists()
        assert "5" not in json.dumps(Entry.objects.order_by("-index")[0].details)

    def test_deleting_twice_is_deleting_once_and_the_first_reason_stays(self) -> None:
        collection = Collection().registered()
        for reason in ("first", "second"):
            batch_delete(peer(), identifier=collection.identifier, reason=reason)
        assert collection.batch.outcome == "first"
        batch_delete(peer(), identifier="0" * 64, reason="never registered")

    def test_messages_that_come_after_the_end_are_refused(self) -> None:
        collection = Collection().registered()
        batch_delete(peer(), identifier=collection.identifier, reason="closed")
        assert collection.send().json()["type"] == "/problems/recipe-not-open"

    def test_batch_that_was_deleted_before_it_was_full_says_so_and_why(self) -> None:
        collection = Collection(cohort_size=30, k=2).registered()
        for _ in range(11):
            collection.send()
        assert batch_ask(peer(), identifier=collection.identifier) == NotFull(10)
        call_command("shuffler_batches", "end", collection.identifier, "--reason", "restored from a backup")
        with pytest.raises(PeerRefusedError, match="restored from a backup") as refusal:
            batch_ask(peer(), identifier=collection.identifier)
        assert (refusal.value.status, refusal.value.problem["type"]) == (410, "/problems/batch-deleted")
        assert refusal.value.problem["full"] is False
        assert "received" not in refusal.value.problem

    def test_full_batch_that_was_deleted_is_gone_for_good(self) -> None:
        collection = Collection(cohort_size=2).registered()
        collection.fill()
        batch_delete(peer(), identifier=collection.identifier, reason="fetched")
        assert collection.send().json()["type"] == "/problems/batch-full"
        with pytest.raises(PeerRefusedError) as refusal:
            batch_ask(peer(), identifier=collection.identifier)
        assert (refusal.value.status, refusal.value.problem["full"]) == (410, True)
        with pytest.raises(PeerRefusedError):
            part_fetch(peer(), identifier=collection.identifier, number=0)


@pytest.mark.django_db
class TestMetrics:
    def measures(self) -> dict[str, float]:
        lines = Client().get("/metrics").content.decode().splitlines()
        rows = [line.rsplit(" ", 1) for line in lines if not line.startswith("#")]
        return {name: float(value) for name, value in rows if "bytes" in name or "latency" in name}

    def test_submissions_are_counted_and_neither_measured_nor_timed(self, settings: Any) -> None:
        settings.MIDDLEWARE = list(role_named("shuffler").middleware)
        collection = Collection(k=100).registered()
        self.measures()  # its own request is measured, too
        first = self.measures()
        second = self.measures()
        # Answers are of one size each.
        alone = {name: second[name] - first[name] for name in second if "requests_body_total_bytes" in name}
        assert alone
        for _ in range(3):
            assert collection.send().status_code == 201
        third = self.measures()
        assert {name: third[name] - second[name] for name in alone} == alone
        counts = [name for name in second if "latency" in name and name.endswith("_count")]
        assert counts
        assert all(third[name] - second[name] <= 1 for name in counts)
        assert not [name for name in third if "latency" in name and "shuffler-messages" in name]
        assert 'view="shuffler-messages"' in Client().get("/metrics").content.decode()


@pytest.mark.django_db
class TestUpkeep:
    def test_batch_that_closed_without_being_full_is_deleted_and_a_full_one_kept_for_a_while(
        self, settings: Any
    ) -> None:
        settings.TASK_RETENTION_SECONDS = 10 * 86_400
        full, partial = (Collection(simulation=False, cohort_size=2).registered() for _ in range(2))
        full.fill()
        partial.send()
        closes_at = full.recipe.closes_at
        upkeep(now=closes_at - timedelta(seconds=1))
        assert Submission.objects.count() == 3
        upkeep(now=max(closes_at, partial.recipe.closes_at))
        assert (full.batch.state, partial.batch.state) == (Batch.State.FULL, Batch.State.ENDED)
        upkeep(now=closes_at + timedelta(days=10))
        assert full.batch.state == Batch.State.ENDED
        assert not Submission.objects.exists()

    def test_unreadable_recipe_is_shown_and_passed_over(self, monkeypatch: pytest.MonkeyPatch) -> None:
        far, near = (Collection(simulation=False, name=name).registered() for name in ("Far", "Near"))
        make_unreadable(monkeypatch, "Far")
        shown = status([far.batch, near.batch])["batches"]
        assert [one["name"] for one in shown] == ["Far", "Near"]
        upkeep(now=near.recipe.closes_at)
        assert (far.batch.state, near.batch.state) == (Batch.State.COLLECTING, Batch.State.ENDED)

    def test_simulation_that_nobody_ended_is_deleted_after_a_day(self) -> None:
        collection = Collection().registered()
        upkeep(now=timezone.now() + timedelta(hours=23))
        assert collection.batch.state == Batch.State.COLLECTING
        upkeep(now=timezone.now() + timedelta(hours=25))
        assert collection.batch.state == Batch.State.ENDED

    def test_commands_list_batches_coarsely_and_end_them(self, capsys: pytest.CaptureFixture[str]) -> None:
        collection = Collection(cohort_size=30, k=2).registered()
        for _ in range(11):
            collection.send()
        call_command("shuffler_upkeep")
        call_command("shuffler_batches", "list")
        assert f"{collection.identifier}  registered" in (listed := capsys.readouterr().out)
        assert "about 10 of 30 users" in listed
        with pytest.raises(CommandError, match="no batch"):
            call_command("shuffler_batches", "end", "0" * 64, "--reason", "gone")
        with pytest.raises(CommandError, match="reason"):
            call_command("shuffler_batches", "end", "--all", "--reason", " ")
        call_command("shuffler_batches", "end", "--all", "--reason", "the analyzer is gone")
        assert collection.batch.outcome == "the analyzer is gone"
        call_command("shuffler_batches", "list", "--ended")
        assert "the analyzer is gone" in capsys.readouterr().out


@pytest.mark.django_db
class TestPages:
    def test_status_tells_how_full_a_batch_is_in_coarse_steps_only(self, client: Client) -> None:
        collection = Collection(cohort_size=30, k=2).registered()
        for _ in range(11):
            collection.send()
        (shown,) = client.get("/status.json").json()["batches"]
        assert (shown["identifier"], shown["users"], shown["full"]) == (collection.identifier, 10, False)
        page = client.get("/").content.decode()
        assert collection.recipe.question in page
        assert "about 10" in page

    def test_status_without_anything_says_so(self, client: Client) -> None:
        assert "No analyzer has registered a recipe yet" in client.get("/").content.decode()

    def test_full_and_ended_batches_are_shown_with_the_log(self, client: Client) -> None:
        collection = Collection(cohort_size=2).registered()
        collection.fill()
        batch_ask(peer(), identifier=collection.identifier)
        batch_delete(peer(), identifier=collection.identifier, reason="the analyzer has fetched it")
        page = client.get("/").content.decode()
        for said in ("the analyzer has fetched it", "Batch deleted", "Full batch shuffled and handed on"):
            assert said in page

    def test_nothing_of_a_device_is_logged_whatever_it_sends(
        self, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        collection = Collection().registered()
        nonce = secrets.token_bytes(16)
        good = collection.encrypted(collection.messages())
        bad = [b"\x02" + b"\xfe" * 65] * len(good)

        def unavailable(**submission: Any) -> None:
            raise OperationalError(str(submission))

        with caplog.at_level(logging.DEBUG):
            answers = [
                collection.send(good, nonce=nonce, **DEVICE),
                # Another nonce: of one that is known nothing more is read.
                collection.send(bad, **DEVICE),
                collection.post(b"\xc1" + AGENT.encode(), **DEVICE),
            ]
            monkeypatch.setattr("shuffler.views.submission_accept", unavailable)
            answers.append(collection.send(good, nonce=nonce, **DEVICE))
        assert [answer.status_code for answer in answers] == [201, 422, 422, 503]
        logged = "\n".join(
            str(vars(record))
            for record in caplog.records
            if not record.name.startswith("django.db")  # shown to developers only, below every log's level
        )
        assert "database_unavailable" in logged
        for piece in (ADDRESS, AGENT, nonce.hex(), good[0].hex(), repr(good[0]), "fefefe", r"\xfe\xfe"):
            assert piece not in logged

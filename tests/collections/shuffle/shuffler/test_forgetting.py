"""What a shuffler keeps of devices, and that nothing is left of it in the end."""

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

from log.audit.models import Entry
from panapp.roles import role_named
from partners.client import PeerRefusedError
from partners.shuffler_calls import NotFull, batch_ask, batch_delete, part_fetch
from shuffle.shuffler.batch_ends import upkeep
from shuffle.shuffler.models import Batch, Part, Submission, SubmissionNonce
from shuffle.shuffler.status import status
from tests.collections.shuffle.shuffler.scene import Collection, peer
from tests.file_content import content_of
from tests.metrics import assert_counted_and_not_measured
from tests.unreadable import make_unreadable

pytestmark = pytest.mark.django_db

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
    @pytest.mark.parametrize("full", [False, True])
    def test_neither_ciphertexts_nor_nonces_are_left_of_a_deleted_batch(self, full: bool) -> None:
        collection = Collection(cohort_size=4, k=20).registered()
        collection.fill([0] * (4 if full else 1))
        pieces = stored_bytes()
        assert any(pieces[0] in content for content in database_files().values())
        if full:
            batch_ask(peer(), identifier=collection.identifier)
            pieces += stored_bytes()
        batch_delete(peer(), identifier=collection.identifier, reason="fetched")
        assert stored_bytes() == []
        assert_nowhere(pieces)

    def test_what_came_over_the_network_is_never_stored_nor_who_sent_it(self) -> None:
        collection = Collection(cohort_size=3).registered()
        ciphertexts = collection.encrypted(collection.messages())
        assert collection.send(ciphertexts, **DEVICE).status_code == 201
        assert_nowhere([*ciphertexts, ADDRESS.encode(), AGENT.encode()])


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

    def test_users_of_an_unfull_batch_are_shown_in_coarse_steps_only(
        self, client: Client, capsys: pytest.CaptureFixture[str]
    ) -> None:
        collection = Collection(cohort_size=30, k=2).registered()
        for _ in range(11):
            collection.send()
        assert batch_ask(peer(), identifier=collection.identifier) == NotFull(10)
        (shown,) = client.get("/status.json").json()["batches"]
        assert (shown["identifier"], shown["users"], shown["full"]) == (collection.identifier, 10, False)
        page = client.get("/").content.decode()
        assert collection.recipe.question in page
        assert "about 10" in page
        call_command("shuffler_upkeep")
        call_command("shuffler_batches", "list")
        assert f"{collection.identifier}  registered" in (listed := capsys.readouterr().out)
        assert "about 10 of 30 users" in listed
        for wrong, words in (("0" * 64, "no batch"), ("--all", "reason")):
            with pytest.raises(CommandError, match=words):
                call_command(
                    "shuffler_batches", "end", wrong, "--reason", "gone" if words != "reason" else " "
                )
        call_command("shuffler_batches", "end", "--all", "--reason", "restored from a backup")
        call_command("shuffler_batches", "list", "--ended")
        assert "restored from a backup" in capsys.readouterr().out
        for reason in ("second", "third"):
            batch_delete(peer(), identifier=collection.identifier, reason=reason)
        batch_delete(peer(), identifier="0" * 64, reason="never registered")
        with pytest.raises(PeerRefusedError, match="restored from a backup") as refusal:
            batch_ask(peer(), identifier=collection.identifier)
        assert (refusal.value.status, refusal.value.problem["type"]) == (410, "/problems/batch-deleted")
        assert refusal.value.problem["full"] is False
        assert "received" not in refusal.value.problem
        assert collection.send().json()["type"] == "/problems/recipe-not-open"
        batch = collection.batch
        assert (batch.state, batch.users, batch.messages) == (Batch.State.ENDED, 0, None)
        for model in (Submission, SubmissionNonce, Part):
            assert not model.objects.exists()
        details = Entry.objects.order_by("-index")[0].details
        assert details == {"reason": "restored from a backup", "full": False}

    def test_full_batch_that_was_deleted_is_gone_for_good(self, client: Client) -> None:
        collection = Collection(cohort_size=2).registered()
        collection.fill()
        batch_ask(peer(), identifier=collection.identifier)
        batch_delete(peer(), identifier=collection.identifier, reason="fetched")
        assert collection.send().json()["type"] == "/problems/batch-full"
        with pytest.raises(PeerRefusedError) as refusal:
            batch_ask(peer(), identifier=collection.identifier)
        assert (refusal.value.status, refusal.value.problem["full"]) == (410, True)
        with pytest.raises(PeerRefusedError):
            part_fetch(peer(), identifier=collection.identifier, number=0)
        page = client.get("/").content.decode()
        for said in ("fetched", "Batch deleted", "Full batch shuffled and handed on"):
            assert said in page


def test_submissions_are_counted_and_neither_measured_nor_timed(settings: Any) -> None:
    settings.MIDDLEWARE = list(role_named("shuffler").middleware)
    collection = Collection(k=10).registered()
    assert_counted_and_not_measured("shuffler-messages", lambda: [collection.send() for _ in range(3)])
    assert collection.batch.users == 3


class TestUpkeep:
    def test_unfull_batch_is_deleted_when_it_closes_and_a_full_one_kept(self, settings: Any) -> None:
        settings.TASK_RETENTION_SECONDS = 10 * 86_400
        # That it was not ended means, a day later, that it was abandoned.
        simulation, now = Collection().registered(), timezone.now()
        upkeep(now=now + timedelta(hours=23))
        assert simulation.batch.state == Batch.State.COLLECTING
        upkeep(now=now + timedelta(hours=25))
        assert simulation.batch.state == Batch.State.ENDED
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


class TestPages:
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
            monkeypatch.setattr("shuffle.shuffler.views.submission_accept", unavailable)
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

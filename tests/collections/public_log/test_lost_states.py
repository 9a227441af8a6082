"""A log that was restored from a backup notices that witnesses know more, and signs nothing more."""

import functools
import hashlib
from collections.abc import Mapping
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.core.management import CommandError, call_command
from django.db import DatabaseError, connection, transaction
from django.test import Client, override_settings
from django.utils import timezone

from audit.actions import ACCESS_DENIED
from audit.models import Entry
from audit.operations import entry_append
from panapp.log_metrics import LogCollector
from panprivacy.transparency import checkpoint as checkpoints
from panprivacy.transparency import signed_note
from panprivacy.transparency.checkpoint import Checkpoint
from panprivacy.transparency.cosignature import cosign
from panprivacy.transparency.merkle import ProofError
from panprivacy.transparency.policy import Policy
from panprivacy.transparency.signed_note import COSIGNATURE, ED25519, Note, VerifierKey
from panprivacy.transparency.witnessing import (
    SIZE_MEDIA_TYPE,
    AddCheckpoint,
    OtherSizeError,
    require_continues,
)
from public_log import cosigning
from public_log.cosigning import witnesses_ask
from public_log.integrating import integrate
from public_log.models import LostState, SignedCheckpoint, Tree
from public_log.selectors import latest_checkpoint
from public_log.verification import log_verify
from storage.signing_key import verification_key

pytestmark = pytest.mark.django_db

WITNESS_KEY = Ed25519PrivateKey.from_private_bytes(bytes([9] * 32))
NAME = "witness.example"


@functools.cache
def own_key() -> bytes:
    return verification_key().public_bytes_raw()


def log_key(origin: str) -> VerifierKey:
    return VerifierKey(origin, ED25519, own_key())


class FarWitness:
    """A witness with a memory that no backup of ours brings back."""

    def __init__(self) -> None:
        self.shown: dict[str, bytes] = {}

    def __call__(
        self, method: str, url: str, _headers: Mapping[str, str], body: bytes, **_: object
    ) -> tuple[int, dict[str, str], bytes]:
        if method == "GET":
            note = self.shown.get(url.split("/")[-2])
            return (404, {}, b"") if note is None else (200, {}, note)
        request = AddCheckpoint.decode(body)
        origin = request.note.partition(b"\n")[0].decode()
        address = hashlib.sha256(origin.encode()).hexdigest()
        checkpoint, note = checkpoints.opened(request.note, [log_key(origin)])
        known = self.shown.get(address)
        try:
            text = None if known is None else Note.decode(known).text
            require_continues(request, checkpoint, None if text is None else Checkpoint.parse(text))
        except OtherSizeError as error:
            return 409, {"Content-Type": SIZE_MEDIA_TYPE}, f"{error.size}\n".encode()
        except ProofError:
            return 422, {}, b""
        signature = cosign(checkpoint, NAME, WITNESS_KEY, time=1_800_000_000)
        self.shown[address] = Note(checkpoint.text, (*note.signatures, signature)).encode()
        return 200, {}, signature.line.encode()


@pytest.fixture
def witness(monkeypatch: pytest.MonkeyPatch, settings: Any) -> FarWitness:
    key = VerifierKey(NAME, COSIGNATURE, WITNESS_KEY.public_key().public_bytes_raw())
    text = f"log {log_key(settings.LOG_ORIGIN).text}\nwitness w {key.text} https://w.example\nquorum w\n"
    settings.LOG_POLICY = Policy.parse(text.encode())
    far = FarWitness()
    monkeypatch.setattr(cosigning, "https_transport", far)
    return far


def grow(count: int = 1) -> None:
    for _ in range(count):
        entry_append(action=ACCESS_DENIED, subject="s", actor=None, details={})
    integrate()


def restored(*, lost: int) -> None:
    """A log of 3 entries, restored from a backup after the witness signed `lost` more."""
    grow(3)
    assert witnesses_ask(now=timezone.now()) == 1
    backup = transaction.savepoint()
    grow(lost)
    assert witnesses_ask(now=timezone.now()) == 1
    transaction.savepoint_rollback(backup)


@pytest.mark.usefixtures("witness")
@pytest.mark.parametrize("since", [0, 1, 2, 5])
def test_a_restored_log_stops_as_soon_as_a_witness_knows_more(since: int) -> None:
    """Whether it was asked before the log is as long again, or after; by a process without signing key."""
    restored(lost=2)
    if since:
        grow(since)
    else:
        with pytest.raises(CommandError, match="a state of 5 entries that it has not"):
            call_command("log", "compare")
    with override_settings(SIGNING_KEY=b""):  # as of `worker-to-subscribers`
        witnesses_ask(now=timezone.now())
    assert LostState.objects.get().size == 5
    signed = latest_checkpoint()
    assert signed is not None
    grow(4)
    # Everybody may go on working, and nothing more is signed.
    assert Entry.objects.count() == 3 + since + 4
    assert latest_checkpoint() == signed
    assert Client().get("/log/checkpoint").content.startswith(signed.note.encode())
    assert witnesses_ask(now=timezone.now()) == 0
    assert log_verify() == 3 + since
    ready = Client().get("/health/ready").json()
    assert ready["checks"]["log"] == "incomplete"
    assert "5 entries" in ready["reasons"]["log"]
    measured = {family.name: family.samples[0].value for family in LogCollector().collect()}
    assert (measured["panapp_log_stopped"], measured["panapp_log_witnesses_failing"]) == (1, bool(since))


@pytest.mark.usefixtures("witness")
def test_it_goes_on_under_a_new_name_only_and_says_so(settings: Any, witness: FarWitness) -> None:
    restored(lost=2)
    with pytest.raises(CommandError, match="no witness knows more"):
        call_command("log", "rename")
    with pytest.raises(CommandError, match="entries that it has not"):
        call_command("log", "compare")
    before = settings.LOG_ORIGIN
    with pytest.raises(CommandError, match=f"must be a new name, not {before}"):
        call_command("log", "rename")
    settings.LOG_ORIGIN = "log.example/2"
    key = witness_line(settings.LOG_POLICY)
    settings.LOG_POLICY = Policy.parse(f"log {log_key('log.example/2').text}\n{key}\nquorum w\n".encode())
    call_command("log", "rename")
    entry = Entry.objects.get(action="log_renamed")
    assert (entry.subject, entry.details) == ("log.example/2", {"before": before, "entries": 3, "lost": 5})
    signed = latest_checkpoint()
    assert signed is not None
    assert Checkpoint.parse(Note.decode(signed.note.encode()).text).origin == "log.example/2"
    assert witnesses_ask(now=timezone.now()) == 1
    # Nothing larger was ever signed under the old name than what was signed before the backup.
    assert SignedCheckpoint.objects.filter(note__startswith=before, size__gt=3).count() == 0
    assert log_verify() == 4
    call_command("log", "compare")


def witness_line(policy: Policy) -> str:
    return f"witness w {policy.witnesses['w'].key.text} https://w.example"


@pytest.mark.parametrize("shown", ["stranger", "another", "nonsense"])
def test_a_witness_that_shows_what_this_log_never_signed_stops_nothing(
    witness: FarWitness, shown: str, settings: Any
) -> None:
    grow(3)
    key = Ed25519PrivateKey.from_private_bytes(bytes([5] * 32))
    text = Checkpoint("other.example" if shown == "another" else settings.LOG_ORIGIN, 99, bytes(32)).text
    note = Note(text, (signed_note.sign(text, text.split("\n")[0], key),)).encode()
    address = hashlib.sha256(settings.LOG_ORIGIN.encode()).hexdigest()
    witness.shown[address] = b"nonsense" if shown == "nonsense" else note
    call_command("log", "compare")
    assert not LostState.objects.exists()
    grow()
    assert Tree.objects.get().size == 4


@pytest.mark.usefixtures("witness")
def test_the_evidence_stays() -> None:
    restored(lost=1)
    with pytest.raises(CommandError, match="entries that it has not"):
        call_command("log", "compare")
    for change in ("UPDATE public_log_loststate SET size = 1", "DELETE FROM public_log_loststate"):
        with pytest.raises(DatabaseError), transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(change)

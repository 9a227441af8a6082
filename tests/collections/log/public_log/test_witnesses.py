"""A witness signs what continues what it saw, and keeps evidence of anything else. The log waits for none.

A log that was restored from a backup notices that witnesses know more, and signs nothing more.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.core.management import CommandError, call_command
from django.db import DatabaseError, connection, transaction
from django.http import HttpResponse
from django.test import Client, override_settings
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from log.audit.models import Entry
from log.public_log import cosignatures
from log.public_log.cosignatures import witnesses_ask
from log.public_log.metrics import LogCollector
from log.public_log.models import (
    AskedWitness,
    Cosignature,
    Fork,
    LostState,
    SignedCheckpoint,
    Tree,
    WitnessedLog,
)
from log.public_log.selectors import latest_checkpoint, proof_of
from log.public_log.verification import log_verify
from log.public_log.witness import witness_verifier_key
from panprivacy.protocols.transparency import checkpoint as checkpoints
from panprivacy.protocols.transparency import signed_note
from panprivacy.protocols.transparency.checkpoint import Checkpoint
from panprivacy.protocols.transparency.cosignature import cosign, cosigned
from panprivacy.protocols.transparency.merkle import EMPTY_ROOT, ProofError, consistency_proof
from panprivacy.protocols.transparency.policy import Policy, QuorumError
from panprivacy.protocols.transparency.signed_note import (
    COSIGNATURE,
    ED25519,
    MOST_SIGNATURES,
    Note,
    VerifierKey,
)
from panprivacy.protocols.transparency.witnessing import (
    SIZE_MEDIA_TYPE,
    AddCheckpoint,
    OtherSizeError,
    require_continues,
)
from tests.collections.log.public_log.scene import contents, grow, log_key, witnessed_policy
from tests.panprivacy.protocols.transparency.trees import nodes_in_memory, slow_root

pytestmark = pytest.mark.django_db


ENTRIES = [bytes([number]) for number in range(12)]
KEY = Ed25519PrivateKey.from_private_bytes(bytes([7] * 32))
LOG = VerifierKey("log.example", ED25519, KEY.public_key().public_bytes_raw())


@pytest.fixture(autouse=True)
def witness_of_the_log(settings: Any) -> None:
    settings.WITNESSED_LOGS = (LOG,)


def request_of(old: int, size: int, root: bytes | None = None, key: Ed25519PrivateKey = KEY) -> bytes:
    """A request for a signature of `size` entries, with an honest proof from `old`."""
    checkpoint = Checkpoint(LOG.name, size, slow_root(ENTRIES[:size]) if root is None else root)
    note = Note(checkpoint.text, (signed_note.sign(checkpoint.text, LOG.name, key),)).encode()
    proof = consistency_proof(nodes_in_memory(ENTRIES), old, size) if old <= size else []
    return AddCheckpoint(old, tuple(proof), note).encode()


def ask(body: bytes) -> HttpResponse:
    answer: Any = Client().post("/witness/add-checkpoint", body, content_type="text/plain; charset=utf-8")
    return answer  # type: ignore[no-any-return]  # the test client's


def seen() -> int:
    return WitnessedLog.objects.get(origin=LOG.name).size


def test_what_continues_the_log_is_signed_and_remembered() -> None:
    assert slow_root([]) == EMPTY_ROOT
    for old, size in ((0, 0), (0, 3), (3, 3), (3, 8), (8, 12)):
        answer = ask(request_of(old, size))
        assert answer.status_code == 200
        assert seen() == size
        text = Checkpoint(LOG.name, size, slow_root(ENTRIES[:size])).text
        note = Note(text, signed_note.parse_signatures(answer.content.decode()))
        found = cosigned(note, witness_verifier_key())
        assert found is not None
        assert abs(found.time - timezone.now().timestamp()) < 600
    address = hashlib.sha256(LOG.name.encode()).hexdigest()
    shown = Client().get(f"/witness/{address}/checkpoint").content
    assert signed_note.opened(shown, [LOG]).text == text
    assert cosigned(Note.decode(shown), witness_verifier_key()) is not None


def test_what_was_seen_before_is_answered_without_writing() -> None:
    """Checkpoints are public, so anybody can send them again, as often as they like."""
    for old, size in ((0, 3), (3, 8)):
        ask(request_of(old, size))
    for body, status in ((request_of(8, 8), 200), (request_of(0, 3), 409), (request_of(3, 8), 409)):
        with CaptureQueriesContext(connection) as asked:
            assert ask(body).status_code == status
        writing = ("INSERT", "UPDATE", "BEGIN", "SAVEPOINT")
        assert not [one["sql"] for one in asked.captured_queries if one["sql"].startswith(writing)]
        assert not any("FOR UPDATE" in one["sql"] for one in asked.captured_queries)
    assert seen() == 8


def test_a_log_that_is_behind_gets_the_size_that_was_seen() -> None:
    ask(request_of(0, 5))
    for old in (0, 4):
        answer = ask(request_of(old, 8))
        assert (answer.status_code, answer.content) == (409, b"5\n")
        assert answer["Content-Type"] == "text/x.tlog.size"
    assert seen() == 5


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"old 0\n\nnonsense", 400),
        (request_of(5, 3), 400),
        (request_of(3, 8, key=Ed25519PrivateKey.from_private_bytes(bytes(32))), 403),
        (request_of(3, 8).replace(b"log.example", b"log.elsewhere"), 404),
        (request_of(3, 8).replace(b"old 3\n", b"old 3\n" + b"A" * 43 + b"=\n"), 422),
        (request_of(3, 8, bytes(32)), 422),
        (b"old 0\n\n" + b"x" * 70_000, 413),
    ],
)
def test_what_is_no_honest_request_is_refused_and_changes_nothing(body: bytes, status: int) -> None:
    ask(request_of(0, 3))
    assert ask(body).status_code == status
    assert seen() == 3
    assert not Fork.objects.exists()


def test_only_posts_are_taken() -> None:
    assert Client().get("/witness/add-checkpoint").status_code == 405
    assert Client().get(f"/witness/{'0' * 64}/checkpoint").status_code == 404


def test_two_states_of_one_size_are_kept_as_evidence(capsys: pytest.CaptureFixture[str]) -> None:
    call_command("log", "evidence")
    ask(request_of(0, 8))
    assert ask(request_of(8, 8, bytes(32))).status_code == 422
    fork = Fork.objects.get()
    # Both are signed by the log: that is the evidence.
    notes = [signed_note.opened(note.encode(), [LOG]) for note in (fork.known, fork.other)]
    assert {Checkpoint.parse(note.text).root for note in notes} == {slow_root(ENTRIES[:8]), bytes(32)}
    with pytest.raises(CommandError, match="1 times a log signed two states"):
        call_command("log", "evidence")
    assert fork.other in capsys.readouterr().out
    with pytest.raises(DatabaseError), transaction.atomic():
        Fork.objects.all().delete()


def test_repeated_lines_below_a_checkpoint_are_not_kept() -> None:
    # With the log's own line a hundred times, the witness could never sign again.
    note = AddCheckpoint.decode(request_of(0, 3)).note
    line = note[note.index("—".encode()) :]
    assert ask(AddCheckpoint(0, (), note + line * (MOST_SIGNATURES - 1)).encode()).status_code == 200
    kept = Note.decode(WitnessedLog.objects.get(origin=LOG.name).note.encode())
    assert [one.name for one in kept.signatures] == [LOG.name, witness_verifier_key().name]
    assert ask(request_of(3, 5)).status_code == 200
    fork = request_of(5, 5, root=bytes(32))
    stranger = "— stranger AAAAAAAAAAAA\n".encode()
    for repeated in range(4):
        body = fork + fork[fork.index("—".encode()) :] * repeated + stranger * repeated
        assert ask(body).status_code == 422
    assert [fork.other.count("—") for fork in Fork.objects.all()] == [1]


def test_a_witness_never_goes_back() -> None:
    ask(request_of(0, 8))
    with pytest.raises(DatabaseError), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("UPDATE public_log_witnessedlog SET size = 7")


# Asking, with this installation as its own witness.


@pytest.fixture
def own_policy(settings: Any) -> Policy:
    settings.WITNESSED_LOGS = (log_key(settings.LOG_ORIGIN),)
    settings.LOG_POLICY = witnessed_policy(settings.LOG_ORIGIN, witness_verifier_key())
    grow()
    return settings.LOG_POLICY


@pytest.fixture
def network(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """What a witness is sent."""
    sent: list[bytes] = []

    def transport(
        method: str, url: str, headers: Mapping[str, str], body: bytes, **_: object
    ) -> tuple[int, dict[str, str], bytes]:
        sent.append(body)
        answer: Any = Client().generic(method, url.replace("https://w.example", "/witness"), body)
        return answer.status_code, dict(answer.headers), answer.content

    monkeypatch.setattr(cosignatures, "https_transport", transport)
    return sent


def test_checkpoint_is_served_with_witness_signatures(own_policy: Policy, network: list[bytes]) -> None:
    note = Client().get("/log/checkpoint").content
    with pytest.raises(QuorumError):
        own_policy.accepted(note)
    assert witnesses_ask(now=timezone.now()) == 1
    accepted = own_policy.accepted(Client().get("/log/checkpoint").content)
    assert [one.name for one in accepted.witnesses] == [witness_verifier_key().name]
    # Asked once for each checkpoint.
    assert (witnesses_ask(now=timezone.now()), len(network)) == (0, 1)
    grow(300)
    assert witnesses_ask(now=timezone.now()) == 1
    assert own_policy.accepted(Client().get("/log/checkpoint").content).checkpoint.size == 301


@pytest.mark.usefixtures("network")
def test_a_command_asks_alone_and_names_the_failing_witness(
    own_policy: Policy, capsys: pytest.CaptureFixture[str], settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as failing:
        failing.setattr(cosignatures, "https_transport", lambda *_, **__: (500, {}, b""))
        with pytest.raises(CommandError, match="quorum"):
            call_command("log", "ask")
        assert "it answered 500" in capsys.readouterr().out
    AskedWitness.objects.all().delete()
    call_command("log", "ask")
    assert own_policy.accepted(Client().get("/log/checkpoint").content).checkpoint.size == 1
    assert capsys.readouterr().out == "Signed by w.\n"
    settings.LOG_POLICY = None
    for command in ("ask", "compare"):
        with pytest.raises(CommandError, match="names no witness with an address"):
            call_command("log", command)


def test_witness_of_another_size_is_asked_from_that_one(own_policy: Policy, network: list[bytes]) -> None:
    witnesses_ask(now=timezone.now())
    AskedWitness.objects.update(size=0)
    grow(3)
    assert witnesses_ask(now=timezone.now()) == 1
    assert [body.split(b"\n")[0] for body in network] == [b"old 0", b"old 0", b"old 1"]
    assert own_policy.accepted(Client().get("/log/checkpoint").content).checkpoint.size == 4


@pytest.mark.parametrize(
    "answer",
    [
        OSError("silent"),
        (500, {}, b""),
        (200, {}, b""),
        (200, {}, b"nonsense"),
        (200, {}, "— stranger AAAAAAAAAAAA\n".encode()),
        (200, {}, b"\xff"),
        (409, {"Content-Type": "text/x.tlog.size"}, b"99\n"),
        (409, {"Content-Type": "text/x.tlog.size"}, b"-1\n"),
        (409, {}, b"0\n"),
    ],
)
def test_bad_witness_is_no_harm(own_policy: Policy, monkeypatch: pytest.MonkeyPatch, answer: object) -> None:
    def transport(*_: object, **__: object) -> object:
        if isinstance(answer, OSError):
            raise answer
        return answer

    monkeypatch.setattr(cosignatures, "https_transport", transport)
    assert witnesses_ask(now=timezone.now()) == 0
    assert AskedWitness.objects.get().failing_since is not None
    assert not Cosignature.objects.exists()
    assert Client().get("/log/checkpoint").status_code == 200
    with pytest.raises(QuorumError):
        own_policy.accepted(Client().get("/log/checkpoint").content)


def test_a_witness_that_signs_a_hundred_times_is_one_line(
    own_policy: Policy, network: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = cosignatures.https_transport

    def often(*asked: Any, **options: Any) -> tuple[int, Mapping[str, str], bytes]:
        status, fields, body = honest(*asked, **options)
        return status, fields, body * MOST_SIGNATURES

    monkeypatch.setattr(cosignatures, "https_transport", often)
    assert witnesses_ask(now=timezone.now()) == 1
    assert own_policy.accepted(Client().get("/log/checkpoint").content).checkpoint.size == 1


def test_a_proof_is_as_of_the_newest_checkpoint_with_enough_witnesses(
    own_policy: Policy, network: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    witnesses_ask(now=timezone.now())
    grow()
    first, second = proof_of(0), proof_of(1)
    assert first is not None
    assert second is not None
    assert first.verify(contents()[0], own_policy).checkpoint.size == 1
    # Not yet signed by the witness.
    with pytest.raises(QuorumError):
        second.verify(contents()[1], own_policy)


def test_log_restored_from_backup_has_no_witness(own_policy: Policy, monkeypatch: pytest.MonkeyPatch) -> None:
    def knows_more(*request: Any, **_: object) -> tuple[int, dict[str, str], bytes]:
        if AddCheckpoint.decode(request[3]).old > 1:
            return 400, {}, b"the old size must be at most the checkpoint's"
        return 409, {"Content-Type": "text/x.tlog.size"}, b"100\n"

    monkeypatch.setattr(cosignatures, "https_transport", knows_more)
    for _ in range(2):
        assert witnesses_ask(now=timezone.now()) == 0
        assert AskedWitness.objects.get().last_error == "it saw 100 entries, and this log has 1"


def test_the_command_names_the_keys_that_others_need(
    own_policy: Policy, capsys: pytest.CaptureFixture[str], settings: Any
) -> None:
    call_command("log", "witness")
    log, witness = [line.split()[1] for line in capsys.readouterr().out.splitlines()[:2]]
    assert VerifierKey.parse(log) == own_policy.logs[0]
    assert VerifierKey.parse(witness) == own_policy.witnesses["w"].key


WITNESS_KEY = Ed25519PrivateKey.from_private_bytes(bytes([9] * 32))
NAME = "witness.example"


class FarWitness:
    """A witness with a memory that no backup of ours brings back."""

    def __init__(self) -> None:
        self.shown: dict[str, bytes] = {}
        self.key = log_key("any")

    def __call__(
        self, method: str, url: str, _headers: Mapping[str, str], body: bytes, **_: object
    ) -> tuple[int, dict[str, str], bytes]:
        if method == "GET":
            note = self.shown.get(url.split("/")[-2])
            return (404, {}, b"") if note is None else (200, {}, note)
        request = AddCheckpoint.decode(body)
        origin = request.note.partition(b"\n")[0].decode()
        address = hashlib.sha256(origin.encode()).hexdigest()
        checkpoint, note = checkpoints.opened(request.note, [replace(self.key, name=origin)])
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
    settings.LOG_POLICY = witnessed_policy(settings.LOG_ORIGIN, key)
    far = FarWitness()
    monkeypatch.setattr(cosignatures, "https_transport", far)
    return far


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
    settings.LOG_POLICY = witnessed_policy("log.example/2", settings.LOG_POLICY.witnesses["w"].key)
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


@pytest.mark.parametrize("shown", ["stranger", "another", "nonsense"])
def test_witness_showing_foreign_things_stops_none(witness: FarWitness, shown: str, settings: Any) -> None:
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

"""This installation as a witness of others' logs: it signs what continues what it saw, and nothing else
(C2SP, tlog-witness)."""

import hashlib
from contextlib import suppress
from datetime import datetime

from django.conf import settings
from django.db import transaction

from log.public_log.models import Fork, WitnessedLog
from panprivacy.protocols.transparency import checkpoint as checkpoints
from panprivacy.protocols.transparency.checkpoint import Checkpoint
from panprivacy.protocols.transparency.cosignature import cosign
from panprivacy.protocols.transparency.signed_note import COSIGNATURE, Note, Signature, VerifierKey
from panprivacy.protocols.transparency.witnessing import AddCheckpoint, ForkedLogError, require_continues
from storage.signing_key import witness_key

MOST_FORKS = 100
"""Pieces of evidence against one log that are kept: one would do."""


class UnknownLogError(ValueError):
    """A log that this installation is no witness of."""


def witness_verifier_key() -> VerifierKey:
    """Name and key of this installation as a witness."""
    key = witness_key().public_key().public_bytes_raw()
    return VerifierKey(settings.LOG_ORIGIN, COSIGNATURE, key)


def checkpoint_witness(*, body: bytes, now: datetime) -> Signature:
    """Sign a checkpoint that continues what was seen of its log. It is stored before this returns.

    Args:
        body: of the request, as `AddCheckpoint` has it.

    Raises:
        NoteError: malformed, or not signed by the log that it names (`NotSignedError`).
        UnknownLogError, OtherSizeError.
        ProofError: it does not continue what was seen. Two states of one size (`ForkedLogError`) are kept as
            evidence.
    """
    request = AddCheckpoint.decode(body)
    claimed = Checkpoint.parse(Note.decode(request.note).text)
    keys = [key for key in settings.WITNESSED_LOGS if key.name == claimed.origin]
    if not keys:
        raise UnknownLogError("this installation is no witness of the log")
    checkpoint, note = checkpoints.opened(request.note, keys)
    # An attacker can append lines to a note, and repeat the log's own: one of each key is kept.
    signed = Note(note.text, tuple(one for key in keys for one in note.signatures_by(key)[:1]))
    # Checkpoints are public: anyone can send an old one, or the newest again, as often as they like. What is
    # refused, or seen already, takes no lock and writes nothing. A log only grows: the answer stays true.
    known = _known(WitnessedLog.objects.filter(origin=checkpoint.origin).first())
    with suppress(ForkedLogError):
        require_continues(request, checkpoint, known)
        if known is not None and known.size == checkpoint.size:
            return _cosigned(checkpoint, now)
    refused: ForkedLogError | None = None
    with transaction.atomic():
        WitnessedLog.objects.get_or_create(origin=checkpoint.origin)
        seen = WitnessedLog.objects.select_for_update().get(origin=checkpoint.origin)
        try:
            require_continues(request, checkpoint, _known(seen))
        except ForkedLogError as error:
            # Not raised in here, or the evidence would be undone.
            _fork_keep(seen, signed.encode().decode(), now)
            refused = error
        else:
            return _sign(seen, signed, checkpoint, now)
    raise refused


def _known(seen: WitnessedLog | None) -> Checkpoint | None:
    if seen is None or not seen.note:
        return None
    return Checkpoint.parse(Note.decode(seen.note.encode()).text)


def _cosigned(checkpoint: Checkpoint, now: datetime) -> Signature:
    return cosign(checkpoint, settings.LOG_ORIGIN, witness_key(), time=int(now.timestamp()))


def _sign(seen: WitnessedLog, signed: Note, checkpoint: Checkpoint, now: datetime) -> Signature:
    signature = _cosigned(checkpoint, now)
    note = Note(signed.text, (*signed.signatures, signature))
    seen.size, seen.note = checkpoint.size, note.encode().decode()
    seen.save(update_fields=["size", "note"])
    return signature


def _fork_keep(seen: WitnessedLog, other: str, now: datetime) -> None:
    kept = Fork.objects.filter(origin=seen.origin)
    if not kept.filter(other=other).exists() and kept.count() < MOST_FORKS:
        Fork.objects.create(origin=seen.origin, size=seen.size, known=seen.note, other=other, found_at=now)


def note_witnessed(origin_hash: str) -> str | None:
    """The last state of a log that this installation signed; None if it never did.

    Args:
        origin_hash: SHA-256 of the log's name, 64 hexadecimal digits.
    """
    names = [key.name for key in settings.WITNESSED_LOGS]
    name = next((name for name in names if hashlib.sha256(name.encode()).hexdigest() == origin_hash), None)
    seen = WitnessedLog.objects.filter(origin=name).exclude(note="").first() if name else None
    return None if seen is None else seen.note

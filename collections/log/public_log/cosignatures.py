"""Asking witnesses to sign our newest checkpoint. The log is served without those that are slow."""

import hashlib
from contextlib import suppress
from datetime import datetime

import structlog
from django.conf import settings
from django.db import transaction

from log.public_log.lost_states import state_compare
from log.public_log.models import AskedWitness, Cosignature, SignedCheckpoint, Tree
from log.public_log.selectors import latest_checkpoint
from log.public_log.stored_tree import nodes
from panprivacy.protocols.transparency.checkpoint import parse_number
from panprivacy.protocols.transparency.cosignature import cosigned
from panprivacy.protocols.transparency.merkle import consistency_proof
from panprivacy.protocols.transparency.policy import Policy, Witness
from panprivacy.protocols.transparency.signed_note import Note, NoteError, parse_signatures
from panprivacy.protocols.transparency.witnessing import SIZE_MEDIA_TYPE, AddCheckpoint
from web.transport import https_transport

logger = structlog.get_logger(__name__)

SECONDS = 5.0
"""For a request to a witness as a whole."""

LARGEST_ANSWER = 16 * 1024
_ERROR_LENGTH = 200
_OK, _CONFLICT, _UNPROCESSABLE = 200, 409, 422


class _WitnessError(Exception):
    """A witness that did not sign; the message states why."""


def witnesses_ask(*, now: datetime, policy: Policy | None = None) -> int:
    """Ask each witness of the policy that has not signed the newest checkpoint; returns how many signed in
    this call.

    Safe to run at any time, even twice: a witness signs the same again.

    Args:
        policy: by default the installation's.
    """
    checkpoint, policy = latest_checkpoint(), policy or settings.LOG_POLICY
    if checkpoint is None or policy is None:
        return 0
    signed = set(checkpoint.cosignatures.values_list("witness", flat=True))
    waiting = [one for one in policy.witnesses.values() if one.url and one.key.name not in signed]
    return sum(_ask(witness, checkpoint, now) for witness in waiting)


def witnesses_compare(*, now: datetime) -> list[str]:
    """Compare our tree with what each witness of the policy signed last, and only then sign anything new.

    Returns:
        The answer of each, with its name.
    """
    policy = settings.LOG_POLICY
    told = []
    for witness in policy.witnesses.values() if policy else ():
        if witness.url:
            try:
                _compare(witness, now)
            except (OSError, NoteError, _WitnessError) as error:
                told.append(f"{witness.key.name}: {error}")
            else:
                told.append(f"{witness.key.name}: this log has what it signed")
    return told


def _compare(witness: Witness, now: datetime) -> None:
    """Check what the witness signed last; _WitnessError if it is no state of ours, and none is shown."""
    tree = Tree.objects.first()
    if tree is None:
        return
    origin_hash = hashlib.sha256(tree.origin.encode()).hexdigest()
    status, _, note = https_transport(
        *("GET", f"{witness.url}/{origin_hash}/checkpoint", {}, b""),
        seconds=SECONDS,
        largest_answer=LARGEST_ANSWER,
    )
    if status != _OK:
        raise _WitnessError(f"it shows no checkpoint of this log: it answered {status}")
    lost = state_compare(witness=witness.key.name, note=note, now=now)
    if lost is not None:
        raise _WitnessError(f"this log signed {lost.size} entries for it that it has not: entries were lost")


def _ask(witness: Witness, checkpoint: SignedCheckpoint, now: datetime) -> bool:
    name = witness.key.name
    known = AskedWitness.objects.get_or_create(witness=name)[0]
    try:
        line = _signature_of(witness, checkpoint, known, now)
    except (OSError, NoteError, _WitnessError) as error:
        logger.warning("witness_did_not_sign", witness=name, why=str(error))
        known.failing_since, known.last_error = known.failing_since or now, str(error)[:_ERROR_LENGTH]
        known.save()
        return False
    with transaction.atomic():
        Cosignature.objects.get_or_create(checkpoint=checkpoint, witness=name, defaults={"line": line})
        known.size, known.failing_since, known.last_error = checkpoint.size, None, ""
        known.save()
    return True


def _signature_of(witness: Witness, checkpoint: SignedCheckpoint, known: AskedWitness, now: datetime) -> str:
    """The witness's line below the checkpoint, which holds."""
    status, fields, body = _request(witness, checkpoint, known.size)
    if status == _CONFLICT and fields.get("content-type", "") == SIZE_MEDIA_TYPE:
        # It has another size: retry from that one.
        known.size = parse_number("the witness's size", body.decode("ascii", "replace").removesuffix("\n"))
        if known.size > checkpoint.size:
            with suppress(OSError, NoteError, _WitnessError):
                _compare(witness, now)
            raise _WitnessError(f"it saw {known.size} entries, and this log has {checkpoint.size}")
        status, fields, body = _request(witness, checkpoint, known.size)
    if status == _UNPROCESSABLE:
        with suppress(OSError, NoteError, _WitnessError):
            _compare(witness, now)
        raise _WitnessError(AskedWitness.DIFFERS)
    if status != _OK:
        raise _WitnessError(f"it answered {status}")
    note = Note.decode(checkpoint.note.encode())
    by_witness = [one for one in parse_signatures(body.decode("utf-8", "replace")) if one.is_by(witness.key)]
    # One line: with a hundred of one witness the checkpoint would be unreadable.
    if cosigned(Note(note.text, tuple(by_witness[:1])), witness.key) is None:
        raise _WitnessError("its answer has no signature of its own")
    return by_witness[0].line


def _request(witness: Witness, checkpoint: SignedCheckpoint, old: int) -> tuple[int, dict[str, str], bytes]:
    # A log that was rolled back asks for less than the witness saw, and the witness answers so again.
    old = min(old, checkpoint.size)
    proof = consistency_proof(nodes(checkpoint.size), old, checkpoint.size)
    body = AddCheckpoint(old, tuple(proof), checkpoint.note.encode()).encode()
    status, fields, content = https_transport(
        *("POST", f"{witness.url}/add-checkpoint", {"Content-Type": "text/plain; charset=utf-8"}, body),
        seconds=SECONDS,
        largest_answer=LARGEST_ANSWER,
    )
    return status, {name.lower(): value for name, value in fields.items()}, content

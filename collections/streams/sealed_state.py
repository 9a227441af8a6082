"""The state of a stream and then its estimate, sealed under the key of their version."""

import secrets
from uuid import UUID

from django.conf import settings

from panprivacy.encryption.sealing import seal, unseal
from panprivacy.statistics.intervals.estimate import Estimate
from panprivacy.statistics.streams.state import StreamState
from storage.key_slots import KEY_BYTES, KeySlots
from streams.errors import NotEstimatedError, StreamLostError
from streams.models import Stream

STATE, ESTIMATE = b"stream state\n", b"stream estimate\n"
"""What is sealed; authenticated, so that neither is read as the other."""

INCOMPUTABLE = b""
"""Sealed in an estimate's place if none could be computed."""


def key_slots(stream_id: UUID) -> KeySlots:
    """The place of a stream's keys."""
    return KeySlots(settings.STREAM_KEYS_DIR / f"{stream_id.hex}.keys")


def state_seal(stream: Stream, state: StreamState) -> None:
    """Put `state` into the row as its `version`, under a new key. The row is not saved.

    The key is on the disk when this returns, so the row may be committed.
    """
    stream.state = _sealed(stream, STATE, state.to_bytes())


def state_unseal(stream: Stream) -> StreamState:
    """The state as of the row. Raises StreamLostError if its key is not in its file."""
    return StreamState.from_bytes(_unsealed(stream, STATE, stream.state))


def estimate_seal(stream: Stream, estimate: Estimate | None) -> None:
    """Put `estimate` into the row as its `version`, under a new key; the state is emptied. Nothing is saved.

    The key is on the disk when this returns, so the row may be committed.

    Args:
        estimate: None if none could be computed.
    """
    content = INCOMPUTABLE if estimate is None else estimate.to_bytes()
    stream.state, stream.estimate = b"", _sealed(stream, ESTIMATE, content)


def estimate_unseal(stream: Stream) -> Estimate | None:
    """The estimate as of the row; None if none could be computed.

    Raises:
        NotEstimatedError: none was drawn.
        StreamLostError: its key is not in its file.
    """
    if stream.estimate is None:
        raise NotEstimatedError(f"no estimate of the stream {stream.identifier} was drawn")
    content = _unsealed(stream, ESTIMATE, stream.estimate)
    return None if content == INCOMPUTABLE else Estimate.from_bytes(content)


def _sealed(stream: Stream, kind: bytes, content: bytes) -> bytes:
    key = secrets.token_bytes(KEY_BYTES)
    key_slots(stream.id).write(stream.version, key)
    return seal(content, key, _associated_data(stream, kind), secrets.SystemRandom())


def _unsealed(stream: Stream, kind: bytes, sealed: bytes | memoryview) -> bytes:
    key = key_slots(stream.id).read(stream.version)
    if key is None:
        raise StreamLostError(
            f"the key of the stream {stream.identifier} is not in {settings.STREAM_KEYS_DIR}: this must be "
            "the directory of the process that stored the state (docs/operations/install.md)"
        )
    return unseal(bytes(sealed), key, _associated_data(stream, kind))


def _associated_data(stream: Stream, kind: bytes) -> bytes:
    return kind + stream.id.bytes + stream.version.to_bytes(8, "big")

"""The state of a stream, sealed under the key of its version."""

import os
import secrets
from pathlib import Path
from uuid import UUID

from django.conf import settings
from django.db import connection

from panprivacy.encryption.sealing import seal, unseal
from panprivacy.streams.state import StreamState
from streams.errors import StreamLostError
from streams.key_slots import KEY_BYTES, KeySlots
from streams.models import Stream


def key_slots(stream_id: UUID) -> KeySlots:
    """Where the keys of a stream are."""
    return KeySlots(settings.STREAM_KEYS_DIR / f"{stream_id.hex}.keys")


def state_seal(stream: Stream, state: StreamState) -> None:
    """Put `state` into the row as its `version`, under a new key. The row is not saved.

    The key is on the disk when this returns, so the row may be committed.
    """
    key = secrets.token_bytes(KEY_BYTES)
    key_slots(stream.id).write(stream.version, key)
    stream.state = seal(state.to_bytes(), key, _associated_data(stream), secrets.SystemRandom())


def state_unseal(stream: Stream) -> StreamState:
    """The state as of the row. Raises StreamLostError where its key is not in its file."""
    key = key_slots(stream.id).read(stream.version)
    if key is None:
        raise StreamLostError(
            f"the key of the stream {stream.identifier} is not in {settings.STREAM_KEYS_DIR}: this must be "
            "the directory of the process that stored the state (docs/operations.md)"
        )
    return StreamState.from_bytes(unseal(bytes(stream.state), key, _associated_data(stream)))


def sync_committed() -> None:
    """Return when what was committed survives a power failure.

    PostgreSQL's COMMIT returns no sooner. SQLite's may, as we set it up: it leaves its log to the
    operating system. An older state would come back without its key.
    """
    if connection.vendor != "sqlite":
        return
    log = Path(f"{connection.settings_dict['NAME']}-wal")
    if log.exists():
        with log.open("rb") as file:
            os.fsync(file.fileno())


def _associated_data(stream: Stream) -> bytes:
    return b"stream state\n" + stream.id.bytes + stream.version.to_bytes(8, "big")

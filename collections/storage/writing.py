"""Whether what is sent to us could be stored: a full disk lets every read succeed."""

import os
import secrets
import tempfile
import threading
import time
from pathlib import Path

from django.db import transaction

from storage.models import WriteCheck

FILLER_BYTES = 32 * 1024
"""Some pages of a database, which do not compress."""

EVERY_SECONDS = 10.0
"""For which a process believes that there is room: who asks more often writes no more."""

_lock = threading.Lock()
_written_at: float | None = None


def require_room(directory: Path) -> None:
    """Write to the database, and to a directory where it exists, unless this process just did.

    Raises:
        django.db.Error, OSError: one of them takes nothing.
    """
    global _written_at
    with _lock:
        if _written_at is not None and time.monotonic() - _written_at < EVERY_SECONDS:
            return
        _written_at = None
        database_write()
        if directory.is_dir():
            file_write(directory)
        _written_at = time.monotonic()


def database_write() -> None:
    """Commit pages. Raises django.db.Error."""
    with transaction.atomic():
        WriteCheck.objects.update_or_create(pk=1, defaults={"filler": secrets.token_bytes(FILLER_BYTES)})


def file_write(directory: Path) -> None:
    """Write a file through to the disk, and remove it. Raises OSError."""
    with tempfile.NamedTemporaryFile(dir=directory, prefix=".write-check-") as file:
        file.write(bytes(FILLER_BYTES))
        file.flush()
        os.fsync(file.fileno())

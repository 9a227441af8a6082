"""Whether what is sent to us could be stored: a full disk lets every read succeed, and some writes."""

import os
import secrets
import tempfile
import threading
import time
from collections.abc import Iterable
from pathlib import Path

from django.db import connection, transaction

from storage.models import WriteCheck

FILLER_BYTES = 32 * 1024
"""Some pages of a database, which do not compress."""

FILE_BYTES = 1024 * 1024
"""Of a new file: more than one small request takes."""

EVERY_SECONDS = 10.0
"""Time for which a process believes that there is space: more frequent checks write nothing."""

_SPILLING = """
SELECT count(*) FROM (SELECT FROM generate_series(1, 4000) AS number ORDER BY md5(number::text)) AS sorted
"""
"""Sorts more than fits into `work_mem`: PostgreSQL writes it to a new file next to its tables, and removes
that."""

_lock = threading.Lock()
_written_at: float | None = None


def require_room(directories: Iterable[Path]) -> None:
    """Write to the database, to the disk that it is on, to `TMPDIR`, and to those of the directories that
    exist, unless this process just did.

    Raises:
        django.db.Error, OSError: one of them takes nothing.
    """
    global _written_at
    with _lock:
        if _written_at is not None and time.monotonic() - _written_at < EVERY_SECONDS:
            return
        _written_at = None
        database_write()
        for directory in {Path(tempfile.gettempdir()), *database_directories(), *directories}:
            if directory.is_dir():
                file_write(directory)
        _written_at = time.monotonic()


def database_write() -> None:
    """Commit pages, and make PostgreSQL write a new file. Raises django.db.Error.

    Pages that rows left, and a write-ahead log that is used again, take a commit on a full disk, too.
    """
    with transaction.atomic():
        WriteCheck.objects.update_or_create(pk=1, defaults={"filler": secrets.token_bytes(FILLER_BYTES)})
        if connection.vendor == "postgresql":
            with connection.cursor() as cursor:
                cursor.execute("SET LOCAL work_mem = '64kB'")
                cursor.execute(_SPILLING)


def database_directories() -> list[Path]:
    """The folder of SQLite's file; nothing for a database in memory or on a server."""
    path = Path(connection.settings_dict["NAME"])
    return [path.parent] if connection.vendor == "sqlite" and path.is_file() else []


def file_write(directory: Path) -> None:
    """Write a file through to the disk, and remove it. Raises OSError."""
    with tempfile.NamedTemporaryFile(dir=directory, prefix=".write-check-") as file:
        file.write(bytes(FILE_BYTES))
        file.flush()
        os.fsync(file.fileno())

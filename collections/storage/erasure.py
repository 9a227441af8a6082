"""Deleting so that nothing is left to be read in the database's files.

SQLite marks what is deleted as free and leaves the bytes, and its write-ahead log keeps older pages. Of the
former every connection leaves zeros (`secure_delete` in panapp/settings.py); the latter is emptied here.
PostgreSQL has no such switch, and no backup has one: keys are erased elsewhere (erasable_keys.py).
docs/operations/install.md describes what remains of the rest, and for how long.
"""

import os
from pathlib import Path

from django.db import connection, transaction

WAIT_MILLISECONDS = 1_000
"""For readers and writers to be done. Writers wait meanwhile, so it is far less than their own patience."""


def log_truncate_on_commit() -> None:
    """Empty the write-ahead log once this transaction is committed, or at once if there is none: copies of
    deleted rows are in it."""
    transaction.on_commit(log_truncate, robust=True)


def log_truncate() -> bool:
    """Empty the write-ahead log, unless another transaction reads an older version at this moment; not in a
    transaction.

    Returns:
        Whether nothing is left in it. If not, it must be called again: the site's periodic task does so, a
        partner's upkeep, and the next deletion.
    """
    if connection.vendor != "sqlite":
        return True
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA busy_timeout")
        (patience,) = cursor.fetchone()
        cursor.execute(f"PRAGMA busy_timeout={WAIT_MILLISECONDS}")
        try:
            cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            (busy, _, _) = cursor.fetchone()
        finally:
            cursor.execute(f"PRAGMA busy_timeout={patience}")
    return not busy


def sync_committed() -> None:
    """Return when what was committed survives a power failure: call it before erasing a key that was needed
    until then.

    PostgreSQL's COMMIT returns no sooner. SQLite's may, as we set it up: it leaves its log to the operating
    system. What was deleted would come back without its key.
    """
    if connection.vendor != "sqlite":
        return
    log = Path(f"{connection.settings_dict['NAME']}-wal")
    if log.exists():
        with log.open("rb") as file:
            os.fsync(file.fileno())

"""Deleting so that nothing is left to be read in the database's files.

SQLite marks what is deleted as free and leaves the bytes, and its write-ahead log keeps older pages. Both are
overwritten here. PostgreSQL has no such switch: docs/operations.md says what remains there, and for how long.
"""

from django.db import connection, transaction


def overwriting_deleted() -> None:
    """Have this connection overwrite with zeros what it deletes from now on."""
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA secure_delete=ON")


def log_truncate_on_commit() -> None:
    """Empty the write-ahead log once this transaction is committed: copies of the deleted rows lie there."""
    transaction.on_commit(_log_truncate, robust=True)


def _log_truncate() -> None:
    # Where others read or write at this moment it does nothing, and the next deletion or upkeep does it.
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")

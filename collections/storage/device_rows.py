"""Rows about devices have random keys.

With keys that count, or with none, the tables would hold the order in which they came. The files still do, of
SQLite as of PostgreSQL, for the database puts pages and rows where it likes: docs/operations.md says what
protects the disk.
"""

import secrets

from django.db import models

KEY_BITS = 62
"""Of the random key of a row: two of a million rows share one with probability 2^-23, and the second is then
sent again."""


def random_key() -> int:
    """The key of a row that says nothing of when it was made."""
    return secrets.randbits(KEY_BITS)


class DeviceRow(models.Model):
    """A row about a device, with a random key."""

    # By a key of this type SQLite orders the rows themselves; beside any other it keeps a number that counts.
    id = models.BigAutoField(primary_key=True, default=random_key)

    class Meta:
        abstract = True

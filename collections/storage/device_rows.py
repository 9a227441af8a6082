"""Rows about devices have random keys.

With keys that count, or with none, the tables would hold the order in which they came. The files still do, in
both SQLite and PostgreSQL, because the database puts pages and rows where it likes: docs/operations/
describes what protects the disk.
"""

import secrets

from django.db import models

KEY_BITS = 62
"""Of the random key of a row: two of a million rows share one with probability 2^-23, and the second is then
sent again."""


def random_key() -> int:
    """The key of a row that does not reveal when it was made."""
    return secrets.randbits(KEY_BITS)


class DeviceRow(models.Model):
    """A row about a device, with a random key."""

    # SQLite orders the rows themselves by a key of this type; with any other it also keeps a counting number.
    id = models.BigAutoField(primary_key=True, default=random_key)

    class Meta:
        abstract = True

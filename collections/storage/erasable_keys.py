"""Erasable keys: one for each sealed secret, in a small file of its own outside of the database.

What a database deletes can still be read: PostgreSQL keeps it in its pages and its write-ahead log, any
database in its backups. So a secret is sealed under a key that is nowhere in the database, and erasing that
one file makes all these copies useless, even to an attacker who has the key-encryption key.

The table `ErasableKey` lists the keys that are needed; the directory follows it. A key is on the disk before
the transaction that needs it commits, and is erased after the one that deletes it has. What a crash leaves in
between are files without a row: `old_keys_erase` finds them.
"""

import secrets
from collections.abc import Iterator
from functools import partial
from uuid import UUID

from django.conf import settings
from django.db import connection, transaction

from storage.erasing import sync_committed
from storage.key_slots import KEY_BYTES, KeySlots, all_erased
from storage.models import Database, ErasableKey

VERSION = 0
"""Of every key here: it is written once, and never changed."""

SUFFIX = ".key"

NAME_BYTES = 32
"""Of the name of a key: its database's identifier and its own."""


class KeyLostError(RuntimeError):
    """The key of a sealed secret is needed, and not where it should be. The secret cannot be opened without
    it.
    """


class KeyErasedError(RuntimeError):
    """The key of a sealed secret was erased, and the secret deleted."""


def key_make() -> tuple[bytes, bytes]:
    """A new key, for what is stored in this transaction.

    Returns:
        Its name, `NAME_BYTES` bytes that are no secret, and the key, `KEY_BYTES` bytes. It is on the disk.

    Raises:
        TransactionManagementError: not in a transaction, which would part the key from what it is for.
    """
    _require_transaction()
    # Before the file: a process that sees a file knows by the row whether its transaction is still under way.
    row = ErasableKey.objects.create()
    name = Database.objects.get().id.bytes + row.id.bytes
    key = secrets.token_bytes(KEY_BYTES)
    _slots(name).write(VERSION, key)
    return name, key


def key_read(name: bytes) -> bytes:
    """The key of that name.

    Raises:
        KeyErasedError: it was erased.
        KeyLostError: it was not, and is not in the directory.
    """
    key = _slots(name).read(VERSION)
    if key is not None:
        return key
    if not ErasableKey.objects.filter(id=_id_of(name)).exists():
        raise KeyErasedError("the key of this secret was erased")
    raise KeyLostError(
        f"the key of a sealed secret is not in {settings.ERASABLE_KEYS_DIR}: this must be the directory of "
        "the process that sealed it (docs/operations/backup-and-restore.md)"
    )


def key_erase(name: bytes) -> None:
    """Erase the key once this transaction, which deletes what is sealed under it, is committed.

    Raises:
        TransactionManagementError: not in a transaction.
    """
    _require_transaction()
    ErasableKey.objects.filter(id=_id_of(name)).delete()
    transaction.on_commit(partial(_erase, name), robust=True)


def old_keys_erase() -> None:
    """Erase what a crash left: keys that nothing in the database needs. Safe to run at any time, even twice.

    Raises:
        KeysNotErasedError: some files could not be read or written; of all others the keys are erased.
    """
    names = list(_names())
    needed = set(ErasableKey.objects.values_list("id", flat=True))
    suspects = (name for name in names if _id_of(name) not in needed)
    all_erased((_slots(name).path.name, partial(_erase_unless_needed, name)) for name in suspects)


def keys_lost() -> tuple[int, int]:
    """How many of the keys that are needed are not in the directory, and how many are needed."""
    needed = set(ErasableKey.objects.values_list("id", flat=True))
    # The directory after the table: a key is there before its row can be seen, and gone after it.
    there = {_id_of(name) for name in _names()} if needed else set()
    missing = needed - there
    still = ErasableKey.objects.filter(id__in=missing).count() if missing else 0
    return still, len(needed)


def _require_transaction() -> None:
    if not connection.in_atomic_block:
        raise transaction.TransactionManagementError("a key comes and goes in the transaction of its secret")


def _erase(name: bytes) -> None:
    sync_committed()
    _slots(name).delete()


def _erase_unless_needed(name: bytes) -> None:
    with transaction.atomic(durable=True):
        # The transaction that made the key may not have ended. Then its row, which came before the file,
        # makes ours wait: it is committed and found, or rolled back and never will be.
        row, is_free = ErasableKey.objects.get_or_create(id=_id_of(name))
        if is_free:
            _erase(name)
            row.delete()


def _names() -> Iterator[bytes]:
    """Of all keys in the directory that are this database's."""
    ours = Database.objects.get().id.hex
    if settings.ERASABLE_KEYS_DIR.exists():
        for path in settings.ERASABLE_KEYS_DIR.iterdir():
            if path.name.startswith(ours) and path.suffix == SUFFIX:
                yield bytes.fromhex(path.stem.replace("-", ""))


def _id_of(name: bytes) -> UUID:
    return UUID(bytes=name[NAME_BYTES // 2 :])


def _slots(name: bytes) -> KeySlots:
    database, key = name[: NAME_BYTES // 2], name[NAME_BYTES // 2 :]
    return KeySlots(settings.ERASABLE_KEYS_DIR / f"{database.hex()}-{key.hex()}{SUFFIX}")

"""Erasable keys: one for each sealed secret, in a key service outside of the database.

What a database deletes can still be read: PostgreSQL keeps it in its pages and its write-ahead log, any
database in its backups. So a secret is sealed under a key that is nowhere in the database, and erasing that
one key makes all these copies useless, even to an attacker who has the key-encryption key.

The table `ErasableKey` lists the keys that are needed; the service follows it. A key is there for good before
the transaction that needs it commits, and is erased after the one that deletes it has. What a crash leaves in
between are keys without a row: `old_keys_erase` finds them.
"""

from functools import partial
from uuid import UUID

from django.conf import settings
from django.db import connection, transaction

from storage.erasure import sync_committed
from storage.key_files import KeyFiles
from storage.key_service import PREFIX_BYTES, KeyAbsentError, KeyService
from storage.key_slots import all_erased
from storage.models import Database, ErasableKey


class KeyLostError(RuntimeError):
    """The key of a sealed secret is needed, and not where it should be. The secret cannot be opened without
    it.
    """


class OtherKeyServiceError(KeyLostError):
    """The key of a sealed secret is in a service of another kind than this process uses."""


class KeyErasedError(RuntimeError):
    """The key of a sealed secret was erased, and the secret deleted."""


def key_service() -> KeyService:
    """The service that the settings name."""
    if settings.KEY_TOKEN is None:
        return KeyFiles(settings.ERASABLE_KEYS_DIR)
    # Here: its library is installed only if there is a token.
    from storage.key_token import KeyToken

    return KeyToken(settings.KEY_TOKEN, settings.KEY_TOKEN_PIN)


def key_name() -> bytes:
    """The name of a new key, for what is stored in this transaction. `key_seal` makes the key.

    Raises:
        TransactionManagementError: not in a transaction, which would part the key from what it is for.
    """
    _require_transaction()
    # Before the key: a process that sees a key knows by the row whether its transaction is still under way.
    row = ErasableKey.objects.create(service=key_service().kind)
    return Database.objects.get().id.bytes + row.id.bytes


def key_seal(name: bytes, secret: bytes, associated_data: bytes) -> bytes:
    """The secret, sealed under a new key of that name, which survives a crash when this returns.

    Raises:
        KeyServiceError: the service failed: roll the transaction back.
    """
    return key_service().seal(name, secret, associated_data)


def key_unseal(name: bytes, sealed: bytes, associated_data: bytes) -> bytes:
    """Inverse of `key_seal`.

    Raises:
        KeyErasedError: the key was erased.
        KeyLostError: it was not, and is not in the service, or in one of another kind.
        KeyServiceError: the service failed.
        SealFormatError, SealBrokenError: the key does not open this.
    """
    service = key_service()
    try:
        return service.unseal(name, sealed, associated_data)
    except KeyAbsentError:
        row = ErasableKey.objects.filter(id=_id_of(name)).first()
    if row is None:
        raise KeyErasedError("the key of this secret was erased")
    _require_kind(row, service)
    raise KeyLostError(
        f"the key of a sealed secret is not in {service.place}: this must be the place of the process that "
        "sealed it (docs/operations/backup-and-restore.md)"
    )


def key_erase(name: bytes) -> None:
    """Erase the key once this transaction, which deletes what is sealed under it, is committed.

    Raises:
        OtherKeyServiceError: it is in a service of another kind, which this process cannot make erase it.
        TransactionManagementError: not in a transaction.
    """
    _require_transaction()
    service, row = key_service(), ErasableKey.objects.filter(id=_id_of(name))
    deleted, _ = row.filter(service=service.kind).delete()
    if not deleted and (other := row.first()):
        _require_kind(other, service)
    # No `partial`: if it fails, Django asks a function for its name. Then upkeep erases the key.
    transaction.on_commit(lambda: _erase(name), robust=True)


def old_keys_erase() -> None:
    """Erase what a crash left: keys that nothing in the database needs. Safe to run at any time, even twice.

    Raises:
        KeysNotErasedError: some could not be erased; all others are.
        KeyServiceError: the service failed.
    """
    names = _names()
    needed = set(ErasableKey.objects.values_list("id", flat=True))
    suspects = (name for name in names if _id_of(name) not in needed)
    all_erased((name.hex(), partial(_erase_unless_needed, name)) for name in suspects)


def keys_lost() -> tuple[int, int]:
    """How many of the keys that are needed are not in the service, and how many are needed.

    Raises:
        KeyServiceError: the service failed.
    """
    needed = set(ErasableKey.objects.values_list("id", flat=True))
    # The service after the table: a key is there before its row can be seen, and gone after it.
    there = {_id_of(name) for name in _names()} if needed else set()
    missing = needed - there
    still = ErasableKey.objects.filter(id__in=missing).count() if missing else 0
    return still, len(needed)


def _require_transaction() -> None:
    if not connection.in_atomic_block:
        raise transaction.TransactionManagementError("a key comes and goes in the transaction of its secret")


def _erase(name: bytes) -> None:
    sync_committed()
    key_service().erase(name)


def _erase_unless_needed(name: bytes) -> None:
    with transaction.atomic(durable=True):
        # The transaction that made the key may not have ended. Then its row, which came before the key,
        # makes ours wait: it is committed and found, or rolled back and never will be.
        kind = key_service().kind
        row, is_free = ErasableKey.objects.get_or_create(id=_id_of(name), defaults={"service": kind})
        if is_free:
            _erase(name)
            row.delete()


def _require_kind(row: ErasableKey, service: KeyService) -> None:
    if row.service != service.kind:
        raise OtherKeyServiceError(
            f"the key of a sealed secret is in a key service of the kind {row.service!r}, not "
            f"{service.kind!r}: PANAPP_KEY_SERVICE must be the one of the process that sealed it"
        )


def _names() -> list[bytes]:
    """Of all keys in the service that are this database's."""
    return list(key_service().names(Database.objects.get().id.bytes))


def _id_of(name: bytes) -> UUID:
    return UUID(bytes=name[PREFIX_BYTES:])

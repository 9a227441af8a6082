"""Secrets at rest, sealed under an erasable key of their own and the key-encryption key: both open it.

Format, version 1: `b"PPSE"`, one byte 1, the key's name (key_service.py), then the secret sealed under the
erasable key, sealed under the key-encryption key (panprivacy/encryption/sealing.py).

The associated data names what is sealed and whose it is: sealed secrets cannot be swapped in the database.
"""

import secrets

from django.conf import settings
from django.db import models, transaction

from panprivacy.encryption.sealing import SealFormatError, seal, unseal
from storage.erasable_keys import key_erase, key_name, key_seal, key_unseal
from storage.key_service import NAME_BYTES

_HEADER = b"PPSE" + bytes([1])


def secret_seal(secret: bytes, *, kind: bytes, owner: bytes) -> bytes:
    """`secret` as it is stored in this transaction; its erasable key survives a crash when this returns.

    `secret_erase` or `secrets_delete` erase that key: nothing else deletes a sealed secret for good.

    Args:
        kind: its type, the same for all secrets of that type; chosen so that type and owner together are
            unambiguous.
        owner: whose it is.

    Raises:
        TransactionManagementError: not in a transaction.
        KeyServiceError: the service of erasable keys failed.
    """
    name = key_name()
    associated_data = _HEADER + name + kind + owner
    inner = key_seal(name, secret, associated_data)
    source = secrets.SystemRandom()
    return _HEADER + name + seal(inner, settings.KEY_ENCRYPTION_KEY, associated_data, source)


def secret_unseal(sealed: bytes | memoryview, *, kind: bytes, owner: bytes) -> bytes:
    """Inverse of `secret_seal`.

    Raises:
        SealFormatError, SealBrokenError: it is none, or another's, or another key-encryption key's.
        KeyErasedError: it was deleted after it was read from the database.
        KeyLostError: its erasable key is not where it should be.
        KeyServiceError: the service of erasable keys failed.
    """
    sealed = bytes(sealed)
    name = _name_of(sealed)
    prefix = _HEADER + name
    associated_data = prefix + kind + owner
    inner = unseal(sealed[len(prefix) :], settings.KEY_ENCRYPTION_KEY, associated_data)
    return key_unseal(name, inner, associated_data)


def secret_erase(sealed: bytes | memoryview | None) -> None:
    """Erase the key of a secret once this transaction, which deletes the secret, is committed.

    Nothing is done for None.

    Raises:
        OtherKeyServiceError: that key is in a service of another kind.
    """
    if sealed is not None:
        key_erase(_name_of(bytes(sealed)))


@transaction.atomic
def secrets_delete(rows: models.QuerySet[models.Model], column: str) -> int:
    """Delete rows, and erase the keys of what is sealed in that column of them. The number of rows."""
    found = list(rows.select_for_update().order_by("pk"))
    for row in found:
        secret_erase(getattr(row, column))
    rows.model._default_manager.filter(pk__in=[row.pk for row in found]).delete()
    return len(found)


def _name_of(sealed: bytes) -> bytes:
    """The name of its erasable key. Raises SealFormatError if these are no sealed secret of this version."""
    end = len(_HEADER) + NAME_BYTES
    if not sealed.startswith(_HEADER) or len(sealed) < end:
        raise SealFormatError("these bytes are not a sealed secret of a version that this code knows")
    return sealed[len(_HEADER) : end]

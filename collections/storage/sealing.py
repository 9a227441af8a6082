"""Secrets at rest, sealed under the key-encryption key.

The associated data names what is sealed and whose it is: sealed secrets cannot be swapped in the database.
"""

import secrets

from django.conf import settings

from panprivacy.encryption.sealing import seal, unseal


def secret_seal(secret: bytes, *, kind: bytes, owner: bytes) -> bytes:
    """`secret` as it is stored.

    Args:
        kind: what it is, the same for all of its kind; it ends where no owner begins.
        owner: whose it is.
    """
    return seal(secret, settings.KEY_ENCRYPTION_KEY, kind + owner, secrets.SystemRandom())


def secret_unseal(sealed: bytes | memoryview, *, kind: bytes, owner: bytes) -> bytes:
    """Inverse of `secret_seal`. Raises SealFormatError or SealBrokenError."""
    return unseal(bytes(sealed), settings.KEY_ENCRYPTION_KEY, kind + owner)

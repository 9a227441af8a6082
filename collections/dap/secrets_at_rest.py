"""What a task and an aggregator keep secret, sealed under the key-encryption key.

The associated data names what is sealed and whose it is: sealed secrets cannot be swapped in the
database.
"""

import secrets

from django.conf import settings

from panprivacy.encryption import load_private_key
from panprivacy.encryption.interface import PrivateKey
from panprivacy.encryption.sealing import seal, unseal

HPKE_KEY = b"dap hpke key\n"
VERIFY_KEY = b"dap verification key\n"
SHARE_KEY = b"dap share key\n"


def secret_seal(secret: bytes, *, kind: bytes, owner: bytes) -> bytes:
    """`secret` as it is stored."""
    return seal(secret, settings.KEY_ENCRYPTION_KEY, kind + owner, secrets.SystemRandom())


def secret_unseal(sealed: bytes, *, kind: bytes, owner: bytes) -> bytes:
    """Inverse of `secret_seal`. Raises SealFormatError or SealBrokenError."""
    return unseal(bytes(sealed), settings.KEY_ENCRYPTION_KEY, kind + owner)


def share_key_seal(key: PrivateKey, *, owner: bytes) -> bytes:
    """A private key of pan-private shares, with the name of its scheme."""
    scheme = key.public_key.scheme.encode()
    return secret_seal(scheme + b"\n" + key.to_bytes(), kind=SHARE_KEY, owner=owner)


def share_key_unseal(sealed: bytes, *, owner: bytes) -> PrivateKey:
    """Inverse of `share_key_seal`."""
    scheme, _, encoded = secret_unseal(sealed, kind=SHARE_KEY, owner=owner).partition(b"\n")
    return load_private_key(scheme.decode(), encoded)

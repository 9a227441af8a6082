"""A signing key (Ed25519) as settings hold it, 32 bytes, and its two halves. Settings are read with this."""

import hashlib

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey


def private_half(key: bytes) -> Ed25519PrivateKey:
    """What signs."""
    return Ed25519PrivateKey.from_private_bytes(key)


def public_half(key: bytes) -> bytes:
    """The verification key that belongs to it, 32 bytes."""
    return private_half(key).public_key().public_bytes_raw()


def log_name(verification_key: bytes) -> str:
    """The default name of a public log, by its installation's key (32 bytes)."""
    return f"log-{hashlib.sha256(verification_key).hexdigest()[:16]}"

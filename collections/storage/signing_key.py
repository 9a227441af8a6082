"""The one key with which this installation signs: what it publishes, and its requests and answers to other
installations. And one made from it, with which it signs as a witness of others' logs."""

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings

from storage.key_halves import private_half


def signing_key() -> Ed25519PrivateKey:
    """The private half."""
    return private_half(settings.SIGNING_KEY)


def verification_key() -> Ed25519PublicKey:
    """The public half, which devices and other installations pin."""
    return signing_key().public_key()


def witness_key() -> Ed25519PrivateKey:
    """The private half of the key of a witness: for nothing else, as what it signs does not name it."""
    return witness_key_from(settings.SIGNING_KEY)


def witness_key_from(own: bytes) -> Ed25519PrivateKey:
    """The same of the installation with this signing key, 32 bytes."""
    derived = HKDF(SHA256(), 32, salt=None, info=b"panapp witness key 1").derive(own)
    return private_half(derived)

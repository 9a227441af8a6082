"""The one key with which this installation signs: recipes, and what it says to other installations."""

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from django.conf import settings


def signing_key() -> Ed25519PrivateKey:
    """The private half."""
    return Ed25519PrivateKey.from_private_bytes(settings.SIGNING_KEY)


def verification_key() -> Ed25519PublicKey:
    """The public half, which devices and other installations pin."""
    return signing_key().public_key()

"""Numbers about a recipe that servers sign, each for itself: reports, and tokens (docs/protocol.md)."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import rfc8785
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from panprivacy.ed25519 import require_signature

_COUNTED, _ISSUED = b"panapp-counted-1\n", b"panapp-issued-1\n"
"""What precedes the signed bytes, so that a signature of a count is never one of something else."""


class CountRefusedError(ValueError):
    """A signature that is not of this count, or not by this key."""


class _SignedNumber(ABC):
    @property
    @abstractmethod
    def signed_message(self) -> bytes:
        """A context and canonical JSON (RFC 8785)."""

    def sign(self, key: Ed25519PrivateKey) -> bytes:
        """An Ed25519 signature, 64 bytes; the same each time."""
        return key.sign(self.signed_message)

    def verify(self, signature: bytes, key: Ed25519PublicKey) -> None:
        """CountRefusedError unless `signature` is by `key` of exactly this."""
        try:
            require_signature(key, signature, self.signed_message)
        except InvalidSignature:
            raise CountRefusedError("the signature is not of this number by this key") from None


@dataclass(frozen=True)
class ReleasedCount(_SignedNumber):
    """How many reports a result was made of, as it is published: with noise where there is noise.

    Attributes:
        recipe: its identifier, 64 hexadecimal digits.
        reports: at least 1.
    """

    recipe: str
    reports: int

    @property
    def signed_message(self) -> bytes:
        return _COUNTED + rfc8785.dumps({"recipe": self.recipe, "reports": self.reports})


@dataclass(frozen=True)
class IssuedTokens(_SignedNumber):
    """How many tokens the issuer issued for a recipe that has ended.

    Attributes:
        recipe: its identifier, 64 hexadecimal digits.
        issued: at least 0.
    """

    recipe: str
    issued: int

    @property
    def signed_message(self) -> bytes:
        return _ISSUED + rfc8785.dumps({"recipe": self.recipe, "issued": self.issued})

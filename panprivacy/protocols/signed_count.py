"""Numbers about a recipe that servers sign, each for itself: reports, and tokens (docs/protocol.md)."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from panprivacy.formats.canonical_json import canonical_json
from panprivacy.protocols.ed25519 import require_signature

_COUNTED, _ISSUED = b"panapp-counted-1\n", b"panapp-issued-1\n"
"""The prefix of the signed bytes, so that a signature of a count is never valid for anything else."""


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
    """The number of reports behind a result, in its published form: noisy if the recipe adds noise.

    Attributes:
        recipe: its identifier, 64 hexadecimal digits.
        reports: at least 1.
    """

    recipe: str
    reports: int

    @property
    def signed_message(self) -> bytes:
        return _COUNTED + canonical_json({"recipe": self.recipe, "reports": self.reports})


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
        return _ISSUED + canonical_json({"recipe": self.recipe, "issued": self.issued})

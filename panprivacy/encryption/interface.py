"""What every rerandomizable public-key encryption scheme provides (LPP, Definition 2.8).

A scheme is one module with three classes derived from the ones below. `Ciphertext`
objects are opaque to callers: they come from `PublicKey.parse`, `encrypt`,
`rerandomize`, `add` or `scale` and leave through `bytes()`.
"""

import random
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar, Self


class InvalidCiphertextError(ValueError):
    """Bytes that are not a ciphertext under this key: wrong size, or not a group member."""


class InvalidKeyError(ValueError):
    """A serialized key that this version cannot use."""


class ValueOutOfRangeError(ValueError):
    """A ciphertext whose plaintext lies outside the range the caller allows."""


class Ciphertext(ABC):
    """One encrypted integer. Immutable; equality is equality of the encoding."""

    __slots__ = ()

    @abstractmethod
    def __bytes__(self) -> bytes:
        """The wire encoding: exactly `PublicKey.ciphertext_bytes` bytes."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Ciphertext) and bytes(self) == bytes(other)

    def __hash__(self) -> int:
        return hash(bytes(self))


class PublicKey(ABC):
    """Everything that needs no secret. Safe to share between threads and processes."""

    scheme: ClassVar[str]
    """Registered name, e.g. `elgamal-secp256k1`. Part of every serialized key."""

    ciphertext_bytes: int
    """Length of one encoded ciphertext."""

    rerandomized_is_fresh: ClassVar[bool]
    """Whether Φ(c) is distributed exactly as a fresh encryption of the same plaintext.

    Where it is, the printed Φ^t(Enc(b)) may be replaced by Enc(b). Where it is not,
    `encrypt(..., rerandomizations=t)` performs the t rerandomizations.
    """

    @abstractmethod
    def encrypt(
        self, message: int, random_source: random.Random, *, rerandomizations: int = 0
    ) -> Ciphertext:
        """Φ^t(Enc(message)) with t = `rerandomizations`.

        Args:
            message: any integer (negative ones too) that the caller will be able to
                decrypt again; see the scheme for its plaintext space.
            random_source: `secrets.SystemRandom()` on devices and servers; a seeded
                `random.Random` in simulations only.
            rerandomizations: t ≥ 0; ignored where `rerandomized_is_fresh`.
        """

    @abstractmethod
    def rerandomize(self, ciphertext: Ciphertext, random_source: random.Random) -> Ciphertext:
        """Φ(ciphertext): same plaintext, unlinkable to the argument without the private key."""

    @abstractmethod
    def add(self, ciphertexts: Sequence[Ciphertext]) -> Ciphertext:
        """An encryption of the sum of the plaintexts (one or more). Not rerandomized."""

    @abstractmethod
    def scale(self, ciphertext: Ciphertext, factor: int) -> Ciphertext:
        """An encryption of `factor` (non-zero, may be negative) times the plaintext. Not rerandomized."""

    @abstractmethod
    def parse(self, encoded: bytes) -> Ciphertext:
        """Decode and check size and group membership.

        Raises:
            InvalidCiphertextError: otherwise.
        """

    @abstractmethod
    def to_json(self) -> dict[str, str]:
        """Serialized form: `scheme` and the scheme's own members, all strings."""

    @classmethod
    @abstractmethod
    def from_json(cls, members: Mapping[str, str]) -> Self:
        """Inverse of `to_json`. Raises InvalidKeyError for anything malformed or unknown."""


class PrivateKey(ABC):
    """The secret half. `repr` never shows it."""

    @property
    @abstractmethod
    def public_key(self) -> PublicKey: ...

    @abstractmethod
    def decrypt(self, ciphertext: Ciphertext, allowed: range) -> int:
        """The plaintext.

        Args:
            ciphertext: as parsed by this key's public key.
            allowed: the plaintexts to accept, step 1, at most 2**20 wide.

        Raises:
            ValueOutOfRangeError: the plaintext is not in `allowed`.
        """

    @abstractmethod
    def to_bytes(self) -> bytes:
        """Serialized secret; store it only encrypted (see `panprivacy.encryption.sealing`)."""

    @classmethod
    @abstractmethod
    def from_bytes(cls, encoded: bytes) -> Self:
        """Inverse of `to_bytes`. Raises InvalidKeyError."""

    @classmethod
    @abstractmethod
    def generate(cls, random_source: random.Random) -> Self:
        """A fresh key pair."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__} (secret)>"

"""An "encryption" that hides nothing and records everything, for tests of mechanisms.

A ciphertext shows its plaintext and its history: how often it was rerandomized, and what it
is a sum of. What an intruder could learn from real ciphertexts of a scheme whose
rerandomization is *not* perfect is at most the history; so histories must not depend on the data.
"""

import hashlib
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

from panprivacy.encryption.interface import (
    Ciphertext,
    InvalidCiphertextError,
    InvalidKeyError,
    PrivateKey,
    SchemeKey,
    ValueOutOfRangeError,
)

History = tuple[Any, ...]
"""(number of rerandomizations, histories of the summands)."""


@dataclass(frozen=True, eq=False)
class TransparentCiphertext(Ciphertext):
    plaintext: int
    nonce: int
    history: History = (0, ())

    def __bytes__(self) -> bytes:
        digest = hashlib.sha256(repr(self.history).encode()).digest()[:8]
        return self.plaintext.to_bytes(8, "big", signed=True) + self.nonce.to_bytes(8, "big") + digest


@dataclass
class TransparentPublicKey(SchemeKey):
    """Counts its operations by name in `operations`."""

    scheme: ClassVar[str] = "transparent"
    decryption_seconds = 1e-6
    rerandomized_is_fresh: ClassVar[bool] = False
    ciphertext_bytes: int = 24
    operations: Counter[str] = field(default_factory=Counter)

    def encrypt(
        self, message: int, random_source: random.Random, *, rerandomizations: int = 0
    ) -> TransparentCiphertext:
        self.operations["encrypt"] += 1
        count = 0 if self.rerandomized_is_fresh else rerandomizations
        return TransparentCiphertext(message, random_source.getrandbits(64), (count, ()))

    def rerandomize(self, ciphertext: Ciphertext, random_source: random.Random) -> TransparentCiphertext:
        assert isinstance(ciphertext, TransparentCiphertext)
        self.operations["rerandomize"] += 1
        count, summands = ciphertext.history
        history = (0, ()) if self.rerandomized_is_fresh else (count + 1, summands)
        return TransparentCiphertext(ciphertext.plaintext, random_source.getrandbits(64), history)

    def replace_or_rerandomize(
        self,
        replace: bool,
        message: int,
        ciphertext: Ciphertext,
        random_source: random.Random,
        *,
        rerandomizations: int,
    ) -> TransparentCiphertext:
        assert isinstance(ciphertext, TransparentCiphertext)
        self.operations["replace_or_rerandomize"] += 1
        count, summands = (rerandomizations, ()) if replace else ciphertext.history
        if self.rerandomized_is_fresh:
            count, summands = 0, ()
        elif not replace:
            count += 1
        plaintext = message if replace else ciphertext.plaintext
        return TransparentCiphertext(plaintext, random_source.getrandbits(64), (count, summands))

    def add(self, ciphertexts: Sequence[Ciphertext]) -> TransparentCiphertext:
        self.operations["add"] += 1
        summands = [c for c in ciphertexts if isinstance(c, TransparentCiphertext)]
        assert len(summands) == len(ciphertexts) >= 1
        nonce = sum(c.nonce for c in summands) % 2**64
        return TransparentCiphertext(
            sum(c.plaintext for c in summands), nonce, (0, tuple(c.history for c in summands))
        )

    def scale(self, ciphertext: Ciphertext, factor: int) -> TransparentCiphertext:
        assert isinstance(ciphertext, TransparentCiphertext)
        self.operations["scale"] += 1
        return TransparentCiphertext(
            ciphertext.plaintext * factor, ciphertext.nonce, (0, (ciphertext.history,))
        )

    def parse(self, encoded: bytes) -> TransparentCiphertext:
        if len(encoded) != self.ciphertext_bytes:
            raise InvalidCiphertextError("wrong size")
        return TransparentCiphertext(
            int.from_bytes(encoded[:8], "big", signed=True), int.from_bytes(encoded[8:16], "big")
        )

    def with_tables(self) -> Self:
        return self

    def to_json(self) -> dict[str, str]:
        return {"scheme": self.scheme}

    @classmethod
    def from_json(cls, members: Mapping[str, str]) -> Self:
        if members != {"scheme": cls.scheme}:
            raise InvalidKeyError("not a transparent key")
        return cls()


class FreshTransparentPublicKey(TransparentPublicKey):
    """Its rerandomized ciphertexts are as new: their history is gone."""

    decryption_seconds = 1e-6
    rerandomized_is_fresh: ClassVar[bool] = True


class TransparentPrivateKey(PrivateKey):
    def __init__(self, public_key: TransparentPublicKey | None = None) -> None:
        self._public_key = public_key or TransparentPublicKey()

    @property
    def public_key(self) -> TransparentPublicKey:
        return self._public_key

    def decrypt(self, ciphertext: Ciphertext, allowed: range) -> int:
        assert isinstance(ciphertext, TransparentCiphertext)
        if ciphertext.plaintext not in allowed:
            raise ValueOutOfRangeError(f"{ciphertext.plaintext} is not in {allowed}")
        return ciphertext.plaintext

    def _decrypt_embedded(self, ciphertext: Ciphertext) -> int:
        assert isinstance(ciphertext, TransparentCiphertext)
        return ciphertext.plaintext

    def to_bytes(self) -> bytes:
        return b""

    @classmethod
    def from_bytes(cls, encoded: bytes) -> Self:
        if encoded:
            raise InvalidKeyError("a transparent key has no secret")
        return cls()

    @classmethod
    def generate(cls, random_source: random.Random) -> Self:  # noqa: ARG003  # the interface's signature
        return cls()

"""The number of ones among encrypted bits: two servers decrypt the sum in parts, and no single bit.

Σ c = (R·g, R·K1 + count·g). Each server publishes its part D = k·(R·g), with a proof that the same k gives
its half of the key (Chaum and Pedersen 1992). Σ c without both parts is count·g. The count is found among
0..n by baby steps and giant steps (Shanks 1971).
"""

import math
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Self

from panprivacy.protocols.joint_key.groups import (
    G1,
    G1_BYTES,
    G1Point,
    InvalidPointError,
    Pair1,
    Scalar,
    encode,
    plus_1,
    scalar,
)
from panprivacy.protocols.joint_key.keys import KeyHalf, KnowledgeProof


class CountNotFoundError(ValueError):
    """The sum is of no number in the range."""


def ciphertext_sum(ciphertexts: Iterable[Pair1]) -> Pair1:
    """Σ c in G1²; of none, the identity in both places."""
    total: Pair1 = (G1Point.identity(), G1Point.identity())
    for each in ciphertexts:
        total = plus_1(total, each)
    return total


def encode_total(total: Pair1) -> bytes:
    """A sum in 96 bytes; unlike a report's points, those of a sum may be the identity."""
    return encode(total)


def decode_total(encoded: bytes) -> Pair1:
    """Inverse of `encode_total`; of no bytes, the sum of no ciphertexts. InvalidPointError."""
    if not encoded:
        return ciphertext_sum(())
    return _decode_any(encoded[:G1_BYTES]), _decode_any(encoded[G1_BYTES:])


def _decode_any(encoded: bytes) -> G1Point:
    """A point of G1, which may be the identity."""
    try:
        point = G1Point.from_compressed_bytes(encoded)
    except (ValueError, TypeError) as error:
        raise InvalidPointError(f"must be a point of G1 in {G1_BYTES} bytes") from error
    if encode([point]) != encoded:
        raise InvalidPointError(f"must be a point of G1 in {G1_BYTES} bytes")
    return point


@dataclass(frozen=True)
class DecryptionPart:
    """What one server publishes of the sum.

    Attributes:
        point: k·(R·g).
        proof: that k is the secret of its half of the key.
    """

    point: G1Point
    proof: KnowledgeProof

    def encode(self) -> bytes:
        """112 bytes."""
        return encode([self.point]) + self.proof.encode()

    @classmethod
    def decode(cls, encoded: bytes) -> Self:
        """Inverse of `encode`; InvalidPointError. The proof is not checked."""
        # Of a sum whose first entry is the identity, so is the part.
        return cls(_decode_any(encoded[:G1_BYTES]), KnowledgeProof.decode(encoded[G1_BYTES:]))

    @classmethod
    def made(cls, context: bytes, total: Pair1, secret: Scalar, random_source: random.Random) -> Self:
        """The part of the server with this secret.

        Args:
            context: the recipe, the role, and the hash of the list of accepted reports.
            total: their sum.
        """
        bases = [G1, total[0]]
        return cls(total[0] * secret, KnowledgeProof.made(context, secret, bases, random_source))

    def require_proved(self, context: bytes, total: Pair1, half: KeyHalf) -> None:
        """ProofRefusedError if it is not the part of the server with this half of the key."""
        self.proof.require(context, [G1, total[0]], [half.k1, self.point])


def count_of(total: Pair1, parts: Sequence[DecryptionPart], most: int) -> int:
    """The number of ones.

    Args:
        parts: of both servers, whose proofs must have been checked.
        most: the number of ciphertexts in the sum; the search takes 2·√most steps.

    Raises:
        CountNotFoundError: it is none of 0..most.
    """
    wanted = total[1]
    for part in parts:
        wanted = wanted + -part.point
    # count = giant·width + baby: count·g − giant·width·g is among the baby steps.
    width = math.isqrt(most) + 1
    small: dict[bytes, int] = {}
    point = G1Point.identity()
    for baby in range(width):
        small[bytes(point.to_compressed_bytes())] = baby
        point = point + G1
    stride = -(G1 * scalar(width))
    for giant in range(width + 1):
        found = small.get(bytes(wanted.to_compressed_bytes()))
        if found is not None and giant * width + found <= most:
            return giant * width + found
        wanted = wanted + stride
    raise CountNotFoundError(f"the sum of the reports is of no number from 0 to {most:,}")

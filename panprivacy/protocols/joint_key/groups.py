"""The groups of BLS12-381: compressed points of G1 (48 bytes) and G2 (96 bytes), and scalars.

Arithmetic is arkworks'. It is not in constant time: the time of a multiplication depends on the scalar. A
device multiplies by fresh random scalars only, and does so with and without an event; a server multiplies by
its half of the key once for each recipe. An attacker who measures a server's single multiplication exactly is
not covered.
"""

import hashlib
import random
from collections.abc import Sequence
from typing import Final

from py_arkworks_bls12381 import GT, G1Point, G2Point, Scalar

__all__ = ["GT", "G1Point", "G2Point", "Scalar"]

GROUP_ORDER: Final = 0x73EDA753_299D7D48_3339D808_09A1D805_53BDA402_FFFE5BFE_FFFFFFFF_00000001
"""r, the prime order of both groups."""

G1_BYTES, G2_BYTES, SCALAR_BYTES = 48, 96, 32

G1: Final = G1Point()
"""g, the generator of G1."""

G2: Final = G2Point()
"""h, the generator of G2."""

Pair1 = tuple[G1Point, G1Point]
"""A vector in G1², such as a ciphertext."""

Pair2 = tuple[G2Point, G2Point]
"""A vector in G2²."""


class InvalidPointError(ValueError):
    """Bytes that are no point of the group, or no scalar."""


_CHALLENGE_BYTES = 48
"""Of a hash that becomes a scalar: 129 bits more than the order, for a remainder close to uniform."""


def draw_scalar(random_source: random.Random) -> Scalar:
    """Uniform on 0..r−1, exactly, by rejection.

    Args:
        random_source: `secrets.SystemRandom()`; seeded ones in tests only.
    """
    while True:
        value = random_source.getrandbits(255)
        if value < GROUP_ORDER:
            return scalar(value)


def scalar(value: int) -> Scalar:
    """An integer modulo r."""
    return Scalar.from_be_bytes((value % GROUP_ORDER).to_bytes(SCALAR_BYTES, "big"))


def challenge(label: bytes, *parts: bytes) -> Scalar:
    """A scalar that is a random function of a label and byte strings (Fiat–Shamir).

    Each part follows its length in eight bytes, so that no two lists read alike.
    """
    digest = hashlib.shake_256(label)
    for part in parts:
        digest.update(len(part).to_bytes(8, "big") + part)
    return Scalar.from_be_bytes_mod_order(digest.digest(_CHALLENGE_BYTES))


def encode(points: Sequence[G1Point | G2Point]) -> bytes:
    """Compressed points, one after the other."""
    return b"".join(bytes(point.to_compressed_bytes()) for point in points)


def decode_1(encoded: bytes) -> G1Point:
    """A point of G1 that is not the identity; InvalidPointError for other bytes."""
    try:
        point = G1Point.from_compressed_bytes(encoded)
    except (ValueError, TypeError) as error:
        raise InvalidPointError(f"must be a point of G1 in {G1_BYTES} bytes") from error
    if point == G1Point.identity() or bytes(point.to_compressed_bytes()) != encoded:
        raise InvalidPointError(f"must be a point of G1 in {G1_BYTES} bytes, not the identity")
    return point


def decode_2(encoded: bytes) -> G2Point:
    """A point of G2 that is not the identity; InvalidPointError for other bytes."""
    try:
        point = G2Point.from_compressed_bytes(encoded)
    except (ValueError, TypeError) as error:
        raise InvalidPointError(f"must be a point of G2 in {G2_BYTES} bytes") from error
    if point == G2Point.identity() or bytes(point.to_compressed_bytes()) != encoded:
        raise InvalidPointError(f"must be a point of G2 in {G2_BYTES} bytes, not the identity")
    return point


def decode_scalar(encoded: bytes) -> Scalar:
    """0..r−1 in 32 bytes, the highest first; InvalidPointError for other bytes."""
    value = int.from_bytes(encoded, "big")
    if len(encoded) != SCALAR_BYTES or value >= GROUP_ORDER:
        raise InvalidPointError(f"must be a number below the group's order in {SCALAR_BYTES} bytes")
    return scalar(value)


def plus_1(left: Pair1, right: Pair1) -> Pair1:
    """The sum in G1²."""
    return left[0] + right[0], left[1] + right[1]


def plus_2(left: Pair2, right: Pair2) -> Pair2:
    """The sum in G2²."""
    return left[0] + right[0], left[1] + right[1]


def times_1(vector: Pair1, factor: Scalar) -> Pair1:
    """A multiple in G1²."""
    return vector[0] * factor, vector[1] * factor


def times_2(vector: Pair2, factor: Scalar) -> Pair2:
    """A multiple in G2²."""
    return vector[0] * factor, vector[1] * factor

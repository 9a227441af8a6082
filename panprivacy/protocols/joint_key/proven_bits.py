"""An encrypted bit with a proof that it is one; both are rerandomized without knowing the bit.

Written additively, with u, u1 ∈ G1² and v, v1 ∈ G2² from the joint key, and F(X, Y)ij = e(Xi, Yj), a bit b is

    c = b·u + r·u1,   d = b·v + s·v1,

ElGamal ciphertexts of b in both groups. Two equations over x in c and y in d have proofs
(π, θ) each (Groth and Sahai, section 9, quadratic equations):

    x·(y − 1) = 0:   F(c, d − v)        = F(u1, π1) + F(θ1, v1)
    x − y = 0:       F(c, v) − F(u, d)  = F(u1, π2) + F(θ2, v1)

Both together mean that x = y is 0 or 1. They hold or not whatever the bit is.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Self

from panprivacy.encryption.interface import Ciphertext, ValueOutOfRangeError
from panprivacy.protocols.joint_key.groups import (
    G1_BYTES,
    G2_BYTES,
    GT,
    G1Point,
    G2Point,
    InvalidPointError,
    Pair1,
    Pair2,
    Scalar,
    decode_1,
    decode_2,
    draw_scalar,
    encode,
    plus_1,
    plus_2,
    scalar,
    times_1,
    times_2,
)
from panprivacy.protocols.joint_key.keys import JointKey

ENCODED_BYTES: Final = 6 * G1_BYTES + 6 * G2_BYTES
"""864: c, d, and two proofs."""

_WEIGHT_BITS: Final = 128
"""Of the random weights of a batch: an invalid report passes with probability at most 3·2^−128."""

_ZERO_1: Final = (G1Point.identity(), G1Point.identity())
_ZERO_2: Final = (G2Point.identity(), G2Point.identity())


@dataclass(frozen=True, eq=False)
class ProvenBit(Ciphertext):
    """An encrypted bit with its proof.

    Attributes:
        c, d: the ciphertexts in G1² and G2².
        pi, theta: for both equations, in G2² and G1² each.
    """

    c: Pair1
    d: Pair2
    pi: tuple[Pair2, Pair2]
    theta: tuple[Pair1, Pair1]

    def __bytes__(self) -> bytes:
        """864 bytes: c, θ1, θ2, d, π1, π2."""
        return encode([*self.c, *self.theta[0], *self.theta[1], *self.d, *self.pi[0], *self.pi[1]])

    @classmethod
    def decode(cls, encoded: bytes) -> Self:
        """Inverse of `bytes`. The proof is not checked: `all_hold` does.

        Raises:
            InvalidPointError: not 864 bytes of points other than the identity.
        """
        if len(encoded) != ENCODED_BYTES:
            raise InvalidPointError(f"must have {ENCODED_BYTES} bytes, not {len(encoded)}")
        split = 6 * G1_BYTES
        first = [decode_1(encoded[at : at + G1_BYTES]) for at in range(0, split, G1_BYTES)]
        second = [decode_2(encoded[at : at + G2_BYTES]) for at in range(split, ENCODED_BYTES, G2_BYTES)]
        c, theta_1, theta_2 = zip(first[::2], first[1::2], strict=True)
        d, pi_1, pi_2 = zip(second[::2], second[1::2], strict=True)
        return cls(c, d, (pi_1, pi_2), (theta_1, theta_2))


def fresh(key: JointKey, bit: int, random_source: random.Random) -> ProvenBit:
    """A new encryption of a bit, with its proof. The work is the same for both bits.

    Args:
        bit: 0 or 1.
        random_source: `secrets.SystemRandom()`; seeded ones in tests only.

    Raises:
        ValueOutOfRangeError: `bit` is neither.
    """
    if bit not in (0, 1):
        raise ValueOutOfRangeError(f"bit: must be 0 or 1, not {bit}")
    r, s = draw_scalar(random_source), draw_scalar(random_source)
    z1, z2 = draw_scalar(random_source), draw_scalar(random_source)
    # All products are computed, and then chosen by the bit.
    rv, su = times_2(key.v, r), times_1(key.u, s)
    c = plus_1((_ZERO_1, key.u)[bit], times_1(key.u1, r))
    d = plus_2((_ZERO_2, key.v)[bit], times_2(key.v1, s))
    # x·(y − 1) = 0: π1 = (b − 1)·r·v + z1·v1, θ1 = b·s·u − (z1 − r·s)·u1.
    pi_1 = plus_2((_minus_2(rv), _ZERO_2)[bit], times_2(key.v1, z1))
    theta_1 = plus_1((_ZERO_1, su)[bit], times_1(key.u1, r * s - z1))
    # x − y = 0: π2 = r·v + z2·v1, θ2 = −s·u − z2·u1.
    pi_2 = plus_2(rv, times_2(key.v1, z2))
    theta_2 = plus_1(_minus_1(su), times_1(key.u1, -z2))
    return ProvenBit(c, d, (pi_1, pi_2), (theta_1, theta_2))


def public_state(key: JointKey, bit: int) -> ProvenBit:
    """The encryption of a bit that any sender can write down: r = s = z2 = 1 and z1 = 2 of `fresh`.

    It is the source of fresh ones: `rerandomized` makes each of this bit from it, with equal probability.
    """
    c = plus_1((_ZERO_1, key.u)[bit], key.u1)
    d = plus_2((_ZERO_2, key.v)[bit], key.v1)
    pi_1 = plus_2((_minus_2(key.v), _ZERO_2)[bit], plus_2(key.v1, key.v1))
    theta_1 = plus_1((_ZERO_1, key.u)[bit], _minus_1(key.u1))
    pi_2 = plus_2(key.v, key.v1)
    theta_2 = _minus_1(plus_1(key.u, key.u1))
    return ProvenBit(c, d, (pi_1, pi_2), (theta_1, theta_2))


def rerandomized(key: JointKey, old: ProvenBit, random_source: random.Random) -> ProvenBit:
    """The same bit in a ciphertext and a proof that are as good as new ones (Belenkiy et al., section 3.2).

    The distribution is exactly that of `fresh` for the same bit, whatever the randomness of `old`, if `old`
    holds. If not, the result does not hold either.
    """
    r, s = draw_scalar(random_source), draw_scalar(random_source)
    z1, z2 = draw_scalar(random_source), draw_scalar(random_source)
    # c' = c + r·u1, d' = d + s·v1.
    c = plus_1(old.c, times_1(key.u1, r))
    d = plus_2(old.d, times_2(key.v1, s))
    d_minus_v = plus_2(d, _minus_2(key.v))
    # F(c', d' − v) = F(c, d − v) + F(u1, r·(d' − v)) + F(s·c, v1): π1 and θ1 take the two terms, and z1
    # moves from one to the other.
    pi_1 = plus_2(old.pi[0], _both_2(d_minus_v, r, key.v1, z1))
    theta_1 = plus_1(old.theta[0], _both_1(old.c, s, key.u1, -z1))
    # F(c', v) − F(u, d') = F(c, v) − F(u, d) + F(u1, r·v) − F(s·u, v1).
    pi_2 = plus_2(old.pi[1], _both_2(key.v, r, key.v1, z2))
    theta_2 = plus_1(old.theta[1], _both_1(key.u, -s, key.u1, -z2))
    return ProvenBit(c, d, (pi_1, pi_2), (theta_1, theta_2))


def all_hold(key: JointKey, bits: Sequence[ProvenBit], random_source: random.Random) -> bool:
    """Whether every proof of a batch holds: one pairing for each bit and four more.

    The four entries of F are combined by α = (1, a) and β = (1, b), the bits and their two equations by
    weights; a, b and the weights are random, drawn after the bits are fixed. A batch with a proof that does
    not hold passes with probability at most 3·2^−128: its difference is a polynomial of degree 1 in each.

    Args:
        random_source: `secrets.SystemRandom()`: the makers of the bits must not predict it.
    """
    if not bits:
        return True
    a, b, *weights = (scalar(random_source.getrandbits(_WEIGHT_BITS)) for _ in range(2 + 2 * len(bits)))
    first, second = weights[: len(bits)], weights[len(bits) :]
    # Σ w·e(α·c, β·(d − v)): one pairing for each bit.
    left = [_entry_1(bit.c, a) * w for bit, w in zip(bits, first, strict=True)]
    minus_v = _minus_2(key.v)
    right = [_entry_2(plus_2(bit.d, minus_v), b) for bit in bits]
    # − e(α·u1, Σ β·(w·π1 + w'·π2)) − e(Σ α·(w·θ1 + w'·θ2), β·v1)
    pis = _weighted_2([bit.pi[0] for bit in bits] + [bit.pi[1] for bit in bits], first + second, b)
    thetas = _weighted_1([bit.theta[0] for bit in bits] + [bit.theta[1] for bit in bits], first + second, a)
    left += [-_entry_1(key.u1, a), -thetas]
    right += [pis, _entry_2(key.v1, b)]
    # + e(Σ w'·α·c, β·v) − e(α·u, Σ w'·β·d)
    left += [_weighted_1([bit.c for bit in bits], second, a), -_entry_1(key.u, a)]
    right += [_entry_2(key.v, b), _weighted_2([bit.d for bit in bits], second, b)]
    return bool(GT.pairing_check(left, right))


def _both_1(left: Pair1, x: Scalar, right: Pair1, y: Scalar) -> Pair1:
    """x·left + y·right, faster than one after the other."""
    return _combined_1([left[0], right[0]], [x, y]), _combined_1([left[1], right[1]], [x, y])


def _both_2(left: Pair2, x: Scalar, right: Pair2, y: Scalar) -> Pair2:
    return _combined_2([left[0], right[0]], [x, y]), _combined_2([left[1], right[1]], [x, y])


def _combined_1(points: list[G1Point], factors: list[Scalar]) -> G1Point:
    return G1Point.multiexp_unchecked(points, factors)


def _combined_2(points: list[G2Point], factors: list[Scalar]) -> G2Point:
    return G2Point.multiexp_unchecked(points, factors)


def _entry_1(vector: Pair1, a: Scalar) -> G1Point:
    """α·vector with α = (1, a)."""
    return vector[0] + vector[1] * a


def _entry_2(vector: Pair2, b: Scalar) -> G2Point:
    return vector[0] + vector[1] * b


def _weighted_1(vectors: Sequence[Pair1], weights: Sequence[Scalar], a: Scalar) -> G1Point:
    """Σ w·(α·vector)."""
    first, second = (_combined_1([vector[side] for vector in vectors], list(weights)) for side in (0, 1))
    return _entry_1((first, second), a)


def _weighted_2(vectors: Sequence[Pair2], weights: Sequence[Scalar], b: Scalar) -> G2Point:
    first, second = (_combined_2([vector[side] for vector in vectors], list(weights)) for side in (0, 1))
    return _entry_2((first, second), b)


def _minus_1(vector: Pair1) -> Pair1:
    return -vector[0], -vector[1]


def _minus_2(vector: Pair2) -> Pair2:
    return -vector[0], -vector[1]

"""The joint key of two servers and its common strings, each made of two halves with proofs.

Each server draws a half k of the secret key for G1, one for G2, and, once both halves of the public key are
known, a half t of each string's secret. It publishes

    K1 = k·g,  K2 = k'·h                                   (`KeyHalf`)
    U = t·u1 = (t·g, t·K1),  V = t'·v1 = (t'·h, t'·K2)     (`StringHalf`; K1 and K2 are now the sums)

with proofs that it knows the secrets (Schnorr; Chaum and Pedersen), bound to a context: what the recipe and
the server's role are. It commits to each half before it sees the other's, so that neither chooses its half by
the other's. k' and t are forgotten at once. The joint key is

    u1 = (g, K1),  u = U_leader + U_helper + (0, g),   v1 = (h, K2),  v = V_leader + V_helper + (0, h).

If neither server keeps t, u is a multiple of u1 plus (0, g), which is indistinguishable from a multiple of u1
alone (decisional Diffie–Hellman in G1; likewise v in G2).
"""

import hashlib
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Self

from panprivacy.protocols.joint_key.groups import (
    G1,
    G1_BYTES,
    G2,
    G2_BYTES,
    SCALAR_BYTES,
    G1Point,
    G2Point,
    InvalidPointError,
    Pair1,
    Pair2,
    Scalar,
    challenge,
    decode_1,
    decode_2,
    decode_scalar,
    draw_scalar,
    encode,
    plus_1,
    plus_2,
)

Point = G1Point | G2Point


class ProofRefusedError(ValueError):
    """A proof does not hold."""


@dataclass(frozen=True)
class KnowledgeProof:
    """That one secret x gives every value from its base, x·base (Schnorr 1991; Chaum and Pedersen 1992).

    Non-interactive by Fiat–Shamir: with y random, commitments y·base, and e the hash of everything, the
    response is y + e·x.

    Attributes:
        e, response: scalars.
    """

    e: Scalar
    response: Scalar

    def encode(self) -> bytes:
        """64 bytes."""
        return bytes(self.e.to_be_bytes()) + bytes(self.response.to_be_bytes())

    @classmethod
    def decode(cls, encoded: bytes) -> Self:
        """Inverse of `encode`; InvalidPointError."""
        if len(encoded) != PROOF_BYTES:
            raise InvalidPointError(f"must have {PROOF_BYTES} bytes, not {len(encoded)}")
        return cls(decode_scalar(encoded[:SCALAR_BYTES]), decode_scalar(encoded[SCALAR_BYTES:]))

    @classmethod
    def made(
        cls, context: bytes, secret: Scalar, bases: Sequence[Point], random_source: random.Random
    ) -> Self:
        """A proof for `secret`·base of each base.

        Args:
            context: what the proof is for; a proof holds in its context only.
            bases: points of either group.
        """
        y = draw_scalar(random_source)
        values = [base * secret for base in bases]
        e = _challenge(context, bases, values, [base * y for base in bases])
        return cls(e, y + e * secret)

    def require(self, context: bytes, bases: Sequence[Point], values: Sequence[Point]) -> None:
        """ProofRefusedError if it does not hold for these values."""
        # y·base = response·base − e·value.
        commitments = [
            _sum(base * self.response, value * -self.e) for base, value in zip(bases, values, strict=True)
        ]
        if _challenge(context, bases, values, commitments) != self.e:
            raise ProofRefusedError("the proof of knowledge does not hold")


PROOF_BYTES: Final = 2 * SCALAR_BYTES


@dataclass(frozen=True)
class KeyHalf:
    """A server's half of the public key.

    Attributes:
        k1, k2: points of G1 and G2.
        proof_1, proof_2: that the server knows their secrets.
    """

    k1: G1Point
    k2: G2Point
    proof_1: KnowledgeProof
    proof_2: KnowledgeProof

    def encode(self) -> bytes:
        """272 bytes."""
        return encode([self.k1, self.k2]) + self.proof_1.encode() + self.proof_2.encode()

    @classmethod
    def decode(cls, encoded: bytes) -> Self:
        """Inverse of `encode`; InvalidPointError. The proofs are not checked."""
        k1, k2, proof_1, proof_2 = _split(encoded, G1_BYTES, G2_BYTES, PROOF_BYTES, PROOF_BYTES)
        return cls(decode_1(k1), decode_2(k2), KnowledgeProof.decode(proof_1), KnowledgeProof.decode(proof_2))

    def require_proved(self, context: bytes) -> None:
        """ProofRefusedError if a proof does not hold in this context."""
        bound = context + encode([self.k1, self.k2])
        self.proof_1.require(bound + b"key G1", [G1], [self.k1])
        self.proof_2.require(bound + b"key G2", [G2], [self.k2])


def key_half(context: bytes, random_source: random.Random) -> tuple[KeyHalf, Scalar]:
    """A fresh half: what is published, and the secret with which the server decrypts its part.

    The secret of G2 is not kept: nothing is decrypted there.

    Args:
        context: the hash of the recipe's parameters and the server's role, of a fixed length.
        random_source: `secrets.SystemRandom()`.
    """
    k, k_2 = draw_scalar(random_source), draw_scalar(random_source)
    k1, k2 = G1 * k, G2 * k_2
    # Each proof is bound to both, so that no two halves can be put together.
    bound = context + encode([k1, k2])
    half = KeyHalf(
        k1,
        k2,
        KnowledgeProof.made(bound + b"key G1", k, [G1], random_source),
        KnowledgeProof.made(bound + b"key G2", k_2, [G2], random_source),
    )
    return half, k


@dataclass(frozen=True)
class StringHalf:
    """A server's half of both common strings.

    Attributes:
        u, v: multiples of u1 in G1² and of v1 in G2².
        proof_u, proof_v: that the server knows the factors.
    """

    u: Pair1
    v: Pair2
    proof_u: KnowledgeProof
    proof_v: KnowledgeProof

    def encode(self) -> bytes:
        """416 bytes."""
        return encode([*self.u, *self.v]) + self.proof_u.encode() + self.proof_v.encode()

    @classmethod
    def decode(cls, encoded: bytes) -> Self:
        """Inverse of `encode`; InvalidPointError. The proofs are not checked."""
        u_1, u_2, v_1, v_2, proof_u, proof_v = _split(
            encoded, G1_BYTES, G1_BYTES, G2_BYTES, G2_BYTES, PROOF_BYTES, PROOF_BYTES
        )
        return cls(
            (decode_1(u_1), decode_1(u_2)),
            (decode_2(v_1), decode_2(v_2)),
            KnowledgeProof.decode(proof_u),
            KnowledgeProof.decode(proof_v),
        )

    def require_proved(self, context: bytes, u1: Pair1, v1: Pair2) -> None:
        """ProofRefusedError if a proof does not hold for these bases in this context."""
        self.proof_u.require(context + b"string G1", u1, self.u)
        self.proof_v.require(context + b"string G2", v1, self.v)


def string_half(context: bytes, u1: Pair1, v1: Pair2, random_source: random.Random) -> StringHalf:
    """A fresh half; its secrets are forgotten.

    Args:
        context: as of `key_half`.
        u1, v1: from both halves of the key.
    """
    t, t_2 = draw_scalar(random_source), draw_scalar(random_source)
    return StringHalf(
        (u1[0] * t, u1[1] * t),
        (v1[0] * t_2, v1[1] * t_2),
        KnowledgeProof.made(context + b"string G1", t, u1, random_source),
        KnowledgeProof.made(context + b"string G2", t_2, v1, random_source),
    )


def commitment(context: bytes, half: KeyHalf | StringHalf) -> bytes:
    """What a server publishes before its half: 32 bytes (SHA-256). The half's own randomness hides it."""
    encoded = half.encode()
    return hashlib.sha256(b"joint key half" + len(context).to_bytes(8, "big") + context + encoded).digest()


@dataclass(frozen=True)
class JointKey:
    """What devices encrypt to, and what proofs are checked with.

    Attributes:
        u1, u: vectors in G1²; u1 is also the public key under which c is a ciphertext.
        v1, v: vectors in G2².
    """

    u1: Pair1
    u: Pair1 = field(repr=False)
    v1: Pair2 = field(repr=False)
    v: Pair2 = field(repr=False)

    @classmethod
    def of(cls, keys: Sequence[KeyHalf], strings: Sequence[StringHalf]) -> Self:
        """From the halves of both servers, whose proofs must have been checked."""
        u1, v1 = key_bases(keys)
        u: Pair1 = (G1Point.identity(), G1)
        v: Pair2 = (G2Point.identity(), G2)
        for half in strings:
            u, v = plus_1(u, half.u), plus_2(v, half.v)
        return cls(u1, u, v1, v)

    def encode(self) -> bytes:
        """576 bytes: u1, u, v1, v."""
        return encode([*self.u1, *self.u, *self.v1, *self.v])

    @classmethod
    def decode(cls, encoded: bytes) -> Self:
        """Inverse of `encode`; InvalidPointError."""
        parts = _split(encoded, *[G1_BYTES] * 4, *[G2_BYTES] * 4)
        a, b, c, d = map(decode_1, parts[:4])
        e, f, g, h = map(decode_2, parts[4:])
        return cls((a, b), (c, d), (e, f), (g, h))


def key_bases(keys: Sequence[KeyHalf]) -> tuple[Pair1, Pair2]:
    """u1 = (g, K1) and v1 = (h, K2)."""
    k1, k2 = G1Point.identity(), G2Point.identity()
    for half in keys:
        k1, k2 = k1 + half.k1, k2 + half.k2
    return (G1, k1), (G2, k2)


def _challenge(
    context: bytes, bases: Sequence[Point], values: Sequence[Point], commitments: Sequence[Point]
) -> Scalar:
    return challenge(
        b"panprivacy joint key proof", context, encode(bases), encode(values), encode(commitments)
    )


def _sum(left: Any, right: Any) -> Any:
    """Of two points of one group."""
    return left + right


def _split(encoded: bytes, *lengths: int) -> list[bytes]:
    if len(encoded) != sum(lengths):
        raise InvalidPointError(f"must have {sum(lengths)} bytes, not {len(encoded)}")
    parts, position = [], 0
    for length in lengths:
        parts.append(encoded[position : position + length])
        position += length
    return parts

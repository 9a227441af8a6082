"""The key of two servers: it encrypts a bit as two encrypted shares with proofs (LPP Algorithm 6).

To a mechanism's device this is a public key like any other, and one of its ciphertexts is one sharing. On an
event (`replace_or_rerandomize`) both parts are replaced by those of a fresh sharing of 1. Otherwise both are
rerandomized, each under its own key, and the shares in them stay. The proof belongs to the shares, whatever
encrypts them, and so stays valid.

`CountNonzero` runs the loop and the coin of Algorithm 6, which are those of Algorithm 3. The steps here are
what it does to the four ciphertexts c⁽¹⁾, p⁽¹⁾, c⁽²⁾ and p⁽²⁾.
"""

import random
from collections.abc import Sequence
from typing import Any, Self

from panprivacy.encryption.interface import Ciphertext, InvalidCiphertextError, NonceBoundKey, SchemeKey
from panprivacy.protocols.encrypted_shares.configuration import VDAF, encode_part, parse_part, part_bytes
from panprivacy.protocols.prio3.reference_verifier import HELPER, LEADER

NONCE_BYTES = 16


class SharedCiphertext(Ciphertext):
    """One sharing of a bit: the leader's part and the helper's, encoded in this order."""

    __slots__ = ("helper", "leader")

    def __init__(self, leader: Sequence[Ciphertext], helper: Sequence[Ciphertext]) -> None:
        self.leader = tuple(leader)
        self.helper = tuple(helper)

    def __bytes__(self) -> bytes:
        return encode_part(self.leader) + encode_part(self.helper)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.leader, self.helper)


class SharedKey(NonceBoundKey):
    """The public keys of leader and helper, for one task and (once bound) for one report.

    Shares are bound to the report's nonce by the context of the inner Prio3Count, which is the task's context
    followed by the nonce. Under any other report identifier they do not verify. So the nonce is drawn first,
    then the shares.

    With an event and without one, the same random bits are drawn and the same operations done: a fresh
    sharing is made and embedded each time, and used or not. How long the embedding takes depends on the
    fresh shares. Each of the two alone is uniformly random, and they are joined by the XOF only. So what a
    clock learns about both reveals nothing about the bit. Nor is it about shares that were already in use.

    Attributes:
        scheme: that of both keys.
        decryption_seconds: for one part, because each aggregator decrypts its own.
    """

    def __init__(
        self, leader: SchemeKey, helper: SchemeKey, context: bytes, *, nonce: bytes | None = None
    ) -> None:
        """
        Args:
            leader, helper: of one scheme, because the task's configuration names only one.
            context: of the task, e.g. `b"dap-18"` followed by the task identifier.
            nonce: see `bound_to`.

        Raises:
            ValueError: the schemes differ, or the nonce is not 16 bytes.
        """
        if leader.scheme != helper.scheme:
            raise ValueError(f"the helper's key must be of scheme {leader.scheme!r}, not {helper.scheme!r}")
        if nonce is not None and len(nonce) != NONCE_BYTES:
            raise ValueError(f"the nonce must be {NONCE_BYTES} bytes, not {len(nonce)}")
        self.leader = leader
        self.helper = helper
        self.context = context
        self._nonce = nonce
        self.scheme = leader.scheme
        self._leader_bytes = part_bytes(leader, LEADER)
        self.ciphertext_bytes = self._leader_bytes + part_bytes(helper, HELPER)
        self.decryption_seconds = leader.decryption_seconds * leader.byte_ciphertexts(
            VDAF.input_share_bytes(LEADER)
        )
        self.rerandomized_is_fresh = leader.rerandomized_is_fresh and helper.rerandomized_is_fresh

    def bound_to(self, nonce: bytes) -> Self:
        return type(self)(self.leader, self.helper, self.context, nonce=nonce)

    def _shares(self, bit: int, random_source: random.Random) -> tuple[bytes, ...]:
        """A fresh sharing, in the clear."""
        if self._nonce is None:
            raise ValueError("bind this key to the report's nonce before encrypting")
        if bit not in (0, 1):
            raise ValueError(f"only a bit can be shared, not {bit}")
        randomness = random_source.randbytes(VDAF.rand_size)
        # Algorithm 6, lines 2 and 3, also 9 and 10: SecretShare and ValidityProof, by `shard` of Prio3Count.
        return VDAF.shard(self.context + self._nonce, bit, self._nonce, randomness)[1]

    def encrypt(
        self, message: int, random_source: random.Random, *, rerandomizations: int = 0
    ) -> SharedCiphertext:
        """A fresh sharing of `message`, both parts as in `PublicKey.encrypt`.

        Raises:
            ValueError: `message` is neither 0 nor 1, or the key is bound to no nonce.
        """
        # Algorithm 6, lines 2 and 3: shares of the bit, and their proof.
        leader, helper = self._shares(message, random_source)
        # Lines 4 and 5: Enc₁ and Enc₂; a part encrypts its share together with its share of the proof.
        return SharedCiphertext(
            self.leader.encrypt_bytes(leader, random_source, rerandomizations=rerandomizations),
            self.helper.encrypt_bytes(helper, random_source, rerandomizations=rerandomizations),
        )

    def rerandomize(self, ciphertext: Ciphertext, random_source: random.Random) -> SharedCiphertext:
        """The same sharing, encrypted anew."""
        own = _own(ciphertext)
        # Algorithm 6, lines 14 and 15, also 34 and 35: Φ₁ and Φ₂.
        return SharedCiphertext(
            [self.leader.rerandomize(piece, random_source) for piece in own.leader],
            [self.helper.rerandomize(piece, random_source) for piece in own.helper],
        )

    def replace_or_rerandomize(
        self,
        replace: bool,
        message: int,
        ciphertext: Ciphertext,
        random_source: random.Random,
        *,
        rerandomizations: int,
    ) -> SharedCiphertext:
        """See `PublicKey.replace_or_rerandomize`; raises as `encrypt`."""
        # Algorithm 6, lines 9 and 10 in a step, 23 and 24 or 28 and 29 in a report: made in either case.
        leader, helper = self._shares(message, random_source)
        own = _own(ciphertext)
        # In a step, lines 8 to 16: Φᵗ(Enc(shares)) if `replace`, else Φ of the kept parts.
        # In a report, lines 20 to 35: Φᵀ⁺¹(Enc(shares)), or Φ. The coin of line 19 is `RandomizedResponse`'s;
        # it replaces the shares with probability 2/(e^ε + 1) (errata).
        return SharedCiphertext(
            self.leader.replace_bytes_or_rerandomize(
                replace, leader, own.leader, random_source, rerandomizations=rerandomizations
            ),
            self.helper.replace_bytes_or_rerandomize(
                replace, helper, own.helper, random_source, rerandomizations=rerandomizations
            ),
        )

    def split(self, encoded: bytes) -> tuple[bytes, bytes]:
        """The leader's part and the helper's of an encoded sharing.

        Raises:
            InvalidCiphertextError: `encoded` has another length.
        """
        if len(encoded) != self.ciphertext_bytes:
            raise InvalidCiphertextError(f"a sharing has {self.ciphertext_bytes} bytes, not {len(encoded)}")
        return encoded[: self._leader_bytes], encoded[self._leader_bytes :]

    def parse(self, encoded: bytes) -> SharedCiphertext:
        leader, helper = self.split(encoded)
        return SharedCiphertext(parse_part(self.leader, leader), parse_part(self.helper, helper))

    def with_tables(self) -> Self:
        leader, helper = self.leader.with_tables(), self.helper.with_tables()
        if leader is self.leader and helper is self.helper:
            return self
        return type(self)(leader, helper, self.context, nonce=self._nonce)

    def __reduce__(self) -> tuple[Any, ...]:
        return _bound, (type(self), self.leader, self.helper, self.context, self._nonce)


def _bound(
    cls: type[SharedKey], leader: SchemeKey, helper: SchemeKey, context: bytes, nonce: bytes | None
) -> SharedKey:
    return cls(leader, helper, context, nonce=nonce)


_own = SharedCiphertext.own

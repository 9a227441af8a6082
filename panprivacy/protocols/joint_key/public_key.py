"""The joint key of two servers as a public key: to a mechanism's device it is one like any other.

A ciphertext is one encrypted bit with its proof, which stay one through every step (LPP section 5.1, last
paragraph). On an event (`replace_or_rerandomize`) both are replaced by those of a fresh 1, otherwise both are
rerandomized.
"""

import random
from collections.abc import Sequence
from typing import Any, Self

from panprivacy.encryption.interface import (
    Ciphertext,
    InvalidCiphertextError,
    PublicKey,
    ValueOutOfRangeError,
)
from panprivacy.formats.seeded_source import SeededSource
from panprivacy.protocols.joint_key.groups import InvalidPointError
from panprivacy.protocols.joint_key.keys import JointKey
from panprivacy.protocols.joint_key.proven_bits import (
    ENCODED_BYTES,
    ProvenBit,
    all_hold,
    fresh,
    public_state,
    rerandomized,
)

SCHEME = "bls12-381"
"""The curve: under this name a server's half of the secret key is stored."""


_KEPT = b"panapp-kept-state-1\n"


class JointPublicKey(PublicKey):
    """The key under which devices of one recipe encrypt.

    Attributes:
        joint: the key and the common strings.
        decryption_seconds: for checking one proof in a batch: no server decrypts a report.
    """

    scheme = SCHEME
    ciphertext_bytes = ENCODED_BYTES
    decryption_seconds = 0.004
    rerandomized_is_fresh = True

    def __init__(self, joint: JointKey) -> None:
        self.joint = joint
        # Read from bytes, as the states that are rerandomized: the library's points have several forms, and
        # a clock could distinguish them.
        self._sources = {bit: ProvenBit.decode(bytes(public_state(joint, bit))) for bit in (0, 1)}

    def encrypt(
        self,
        message: int,
        random_source: random.Random,
        *,
        rerandomizations: int = 0,  # noqa: ARG002  # what is rerandomized is as fresh
    ) -> ProvenBit:
        """A fresh encryption with its proof; ValueOutOfRangeError unless `message` is 0 or 1."""
        return fresh(self.joint, message, random_source)

    def rerandomize(self, ciphertext: Ciphertext, random_source: random.Random) -> ProvenBit:
        return rerandomized(self.joint, _own(ciphertext), random_source)

    def replace_or_rerandomize(
        self,
        replace: bool,
        message: int,
        ciphertext: Ciphertext,
        random_source: random.Random,
        *,
        rerandomizations: int,  # noqa: ARG002  # what is rerandomized is as fresh
    ) -> ProvenBit:
        """See `PublicKey.replace_or_rerandomize`; ValueOutOfRangeError unless `message` is 0 or 1.

        One of two states is chosen, and rerandomized. The public one of the message gives a fresh one.
        """
        source = self._sources.get(message)
        if source is None:
            raise ValueOutOfRangeError(f"bit: must be 0 or 1, not {message}")
        return rerandomized(self.joint, (_own(ciphertext), source)[bool(replace)], random_source)

    def parse(self, encoded: bytes) -> ProvenBit:
        """Sizes and group memberships are checked, the proof is not: `proven_bits.all_hold` does."""
        try:
            return ProvenBit.decode(encoded)
        except InvalidPointError as error:
            raise InvalidCiphertextError(f"an encrypted bit with its proof {error}") from error

    def require_kept(self, ciphertexts: Sequence[Ciphertext]) -> None:
        """That every proof holds.

        An intruder who writes to a device could break the proof: rerandomizing leaves it broken, an event
        makes a fresh one that holds, and the intruder sees which. So a device does not go on from such a state. The
        check's weights are hashes of what is checked: a wrong proof passes with probability 3·2^−128 for each
        that the intruder tries.
        """
        for each in map(_own, ciphertexts):
            if not all_hold(self.joint, [each], SeededSource(_KEPT + self.joint.encode() + bytes(each))):
                raise InvalidCiphertextError("the proof of an encrypted bit does not hold: it was changed")

    def with_tables(self) -> Self:
        """The key itself: there are no tables."""
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return _decoded, (type(self), self.joint.encode())


def _decoded(cls: type[JointPublicKey], encoded: bytes) -> JointPublicKey:
    return cls(JointKey.decode(encoded))


_own = ProvenBit.own

"""F_k(input) if one party has k and the other the input (RFC 9497, mode OPRF, over secp256k1).

The client blinds the input: r·H(input), for a random r. The server multiplies by its key: k·r·H(input). The
client removes r and hashes. The first learns one value of F_k and nothing of k; the second learns nothing.

There is no proof that the right key was used: it would name the key, which is what must not be seen here.
"""

import hashlib
import random
from dataclasses import dataclass, field

from panprivacy.encryption.secp256k1 import (
    GROUP_ORDER,
    POINT_BYTES,
    SCALAR_BYTES,
    Point,
    draw_scalar,
    multiply,
    parse,
    scalar_bytes,
    serialize,
)
from panprivacy.protocols.oblivious_prf.hash_to_curve import hash_to_curve

ELEMENT_BYTES = POINT_BYTES
KEY_BYTES = SCALAR_BYTES

_MODE = b"\0"
# contextString = "OPRFV1-" ‖ mode ‖ "-" ‖ identifier (section 3.1).
_CONTEXT = b"OPRFV1-" + _MODE + b"-secp256k1-SHA256"
"""RFC 9497 has no suite of this curve; ours is named in its manner."""

_LONGEST_INPUT = 2**16 - 1


class InvalidElementError(ValueError):
    """Bytes that are no point of the curve, or a key that is no scalar."""


@dataclass(frozen=True)
class ClientRequest:
    """What the party that asks keeps.

    Attributes:
        input: 0 to 65,535 bytes.
        factor: r, secret: a party that has it and the element knows H(input).
        element: what to send, 33 bytes.
    """

    input: bytes
    factor: int = field(repr=False)
    element: bytes

    def finish(self, evaluated: bytes) -> bytes:
        """F_k(input), 32 bytes, from the other party's answer; InvalidElementError if it is no point."""
        # Finalize: N = blind⁻¹ · evaluatedElement.
        inverse = pow(self.factor, -1, GROUP_ORDER)
        return _output(self.input, multiply(_point(evaluated), scalar_bytes(inverse)))


def ask(input_: bytes, random_source: random.Random) -> ClientRequest:
    """Blind an input (RFC 9497, section 3.3.1).

    Args:
        random_source: `secrets.SystemRandom()`.
    """
    # Blind: blind = G.RandomScalar().
    return ask_with(input_, draw_scalar(random_source))


def ask_with(input_: bytes, factor: int) -> ClientRequest:
    """`ask` with its draw, 1 to the group's order - 1.

    Raises:
        ValueError: the input is too long.
    """
    if len(input_) > _LONGEST_INPUT:
        raise ValueError(f"an input has at most {_LONGEST_INPUT} bytes, not {len(input_)}")
    # Blind: blindedElement = blind · G.HashToGroup(input). The identity is refused by `hash_to_curve`.
    return ClientRequest(input_, factor, serialize(multiply(_hashed(input_), scalar_bytes(factor))))


def new_key(random_source: random.Random) -> bytes:
    """A fresh key, 32 bytes. `random_source` is `secrets.SystemRandom()`."""
    return scalar_bytes(draw_scalar(random_source))


def evaluate(key: bytes, element: bytes) -> bytes:
    """The answer to a blinded element (33 bytes), in a time that does not depend on the key.

    Raises:
        InvalidElementError: the element is no point of the curve, or the key no scalar from 1 on.
    """
    # BlindEvaluate (section 3.3.1): evaluatedElement = skS · blindedElement.
    return serialize(multiply(_point(element), _checked(key)))


def _hashed(input_: bytes) -> Point:
    # HashToGroup, with the tag "HashToGroup-" ‖ contextString (section 4).
    return hash_to_curve(input_, b"HashToGroup-" + _CONTEXT)


def _output(input_: bytes, point: Point) -> bytes:
    # Finalize: Hash(len(input) ‖ input ‖ len(N) ‖ N ‖ "Finalize"), lengths of two bytes.
    parts = (input_, serialize(point))
    framed = b"".join(len(part).to_bytes(2, "big") + part for part in parts)
    return hashlib.sha256(framed + b"Finalize").digest()


def _point(encoded: bytes) -> Point:
    point = parse(encoded) if len(encoded) == ELEMENT_BYTES else None
    if point is None:
        raise InvalidElementError(f"must be a compressed point of secp256k1, {ELEMENT_BYTES} bytes")
    return point


def _checked(key: bytes) -> bytes:
    if len(key) != KEY_BYTES or not 0 < int.from_bytes(key, "big") < GROUP_ORDER:
        raise InvalidElementError(f"a key must be {KEY_BYTES} bytes, 1 to the group's order - 1")
    return key

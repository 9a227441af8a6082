"""Ed25519 (RFC 8032) under keys of other parties.

RFC 8032 leaves open how points with a part of low order are treated. Under a key of low order one signature
verifies for many messages; other such points are valid in one library and not in another. So a key must be of
prime order and in its one encoding. Then the equation that OpenSSL computes, without the cofactor, leaves
one low order for R: the neutral element, which is refused as well. `devices_web/src/ed25519.ts` accepts
exactly the same.
"""

from functools import lru_cache

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

KEY_BYTES = 32

MOST_KEYS = 4_096
"""The number of keys remembered as valid: the check takes a millisecond."""

_P = 2**255 - 19
_D = -121665 * pow(121666, -1, _P) % _P
_ROOT_OF_MINUS_1 = pow(2, (_P - 1) // 4, _P)
_ORDER = 2**252 + 27742317777372353535851937790883648493
_NEUTRAL = (1).to_bytes(KEY_BYTES, "little")

_Point = tuple[int, int, int, int]
"""Extended coordinates (RFC 8032, section 5.1.4): x = X/Z, y = Y/Z, x·y = T/Z."""


class KeyRefusedError(ValueError):
    """A value that is no Ed25519 key for verifying signatures."""


@lru_cache(maxsize=MOST_KEYS)
def public_key_of(encoded: bytes) -> Ed25519PublicKey:
    """The key with this encoding, 32 bytes.

    Raises:
        KeyRefusedError: it is no key; not the one encoding of its point; or its point is not of prime order.
    """
    if len(encoded) != KEY_BYTES:
        raise KeyRefusedError(f"must be an Ed25519 key of {KEY_BYTES} bytes, not {len(encoded)}")
    point = _decoded(encoded)
    if point is None:
        raise KeyRefusedError("must be an Ed25519 key in its one encoding")
    if encoded == _NEUTRAL or not _is_neutral(_times_the_order(point)):
        raise KeyRefusedError("must be an Ed25519 key of prime order")
    return Ed25519PublicKey.from_public_bytes(encoded)


def require_signature(key: Ed25519PublicKey, signature: bytes, message: bytes) -> None:
    """Raise InvalidSignature unless the signature is that of the message under the key.

    Args:
        key: by `public_key_of`, or our own.
    """
    if signature[:KEY_BYTES] == _NEUTRAL:
        raise InvalidSignature
    key.verify(signature, message)


def require_own_signature(encoded: bytes, signature: bytes, message: bytes) -> None:
    """As `require_signature`, under a key that its maker uses once, for a message of its own.

    The key's order is not checked, which takes a millisecond: one of low order lets others change that
    message, and harms its maker only. InvalidSignature for bytes that are no key, too.
    """
    try:
        key = Ed25519PublicKey.from_public_bytes(encoded)
    except ValueError:
        raise InvalidSignature from None
    key.verify(signature, message)


def _decoded(encoded: bytes) -> _Point | None:
    """Section 5.1.3; None for an invalid point, and for a second encoding of one."""
    number = int.from_bytes(encoded, "little")
    sign, y = number >> 255, number & (2**255 - 1)
    if y >= _P:
        return None
    u, v = (y * y - 1) % _P, (_D * y * y + 1) % _P
    x = u * pow(v, 3, _P) * pow(u * pow(v, 7, _P), (_P - 5) // 8, _P) % _P
    if v * x * x % _P == -u % _P:
        x = x * _ROOT_OF_MINUS_1 % _P
    if v * x * x % _P != u or (x == 0 and sign):
        return None
    x = -x % _P if x % 2 != sign else x
    return x, y, 1, x * y % _P


def _times_the_order(point: _Point) -> _Point:
    result = point
    for bit in f"{_ORDER:b}"[1:]:
        result = _doubled(result)
        if bit == "1":
            result = _sum(result, point)
    return result


def _sum(p: _Point, q: _Point) -> _Point:
    """Section 5.1.4."""
    a = (p[1] - p[0]) * (q[1] - q[0]) % _P
    b = (p[1] + p[0]) * (q[1] + q[0]) % _P
    c = 2 * p[3] * q[3] * _D % _P
    d = 2 * p[2] * q[2] % _P
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % _P, g * h % _P, f * g % _P, e * h % _P


def _doubled(p: _Point) -> _Point:
    """Section 5.1.4."""
    a, b, c = p[0] * p[0] % _P, p[1] * p[1] % _P, 2 * p[2] * p[2] % _P
    h = a + b
    e = h - (p[0] + p[1]) * (p[0] + p[1])
    g = a - b
    f = c + g
    return e * f % _P, g * h % _P, f * g % _P, e * h % _P


def _is_neutral(p: _Point) -> bool:
    return p[0] % _P == 0 and (p[1] - p[2]) % _P == 0

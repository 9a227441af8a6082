"""Bytes as points of secp256k1 with unknown logarithms: the suite secp256k1_XMD:SHA-256_SSWU_RO_ of RFC 9380
(section 8.7).

The time depends on the bytes. Only a party that knows them may hash them.
"""

import hashlib

from panprivacy.encryption.secp256k1 import Point, combine, parse

_P = 2**256 - 2**32 - 977
"""The field's order."""

# y² = x³ + A·x + B is a curve with a map of degree 3 to secp256k1 (RFC 9380, section 8.7).
_A = 0x3F8731ABDD661ADCA08A5558F0F5D272E953D363CB6F0E5D405447C01A444533
_B = 1771
_Z = -11

# Coefficients of the map, constant term first (RFC 9380, appendix E.1).
_X_NUMERATOR = (
    0x8E38E38E38E38E38E38E38E38E38E38E38E38E38E38E38E38E38E38DAAAAA8C7,
    0x07D3D4C80BC321D5B9F315CEA7FD44C5D595D2FC0BF63B92DFFF1044F17C6581,
    0x534C328D23F234E6E2A413DECA25CAECE4506144037C40314ECBD0B53D9DD262,
    0x8E38E38E38E38E38E38E38E38E38E38E38E38E38E38E38E38E38E38DAAAAA88C,
)
_X_DENOMINATOR = (
    0xD35771193D94918A9CA34CCBB7B640DD86CD409542F8487D9FE6B745781EB49B,
    0xEDADC6F64383DC1DF7C4B2D51B54225406D36B641F5E41BBC52A56612A8C6D14,
    1,
)
_Y_NUMERATOR = (
    0x4BDA12F684BDA12F684BDA12F684BDA12F684BDA12F684BDA12F684B8E38E23C,
    0xC75E0C32D5CB7C0FA9D0A54B12A0A6D5647AB046D686DA6FDFFC90FC201D71A3,
    0x29A6194691F91A73715209EF6512E576722830A201BE2018A765E85A9ECEE931,
    0x2F684BDA12F684BDA12F684BDA12F684BDA12F684BDA12F684BDA12F38E38D84,
)
_Y_DENOMINATOR = (
    0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEFFFFF93B,
    0x7A06534BB8BDB49FD5E9E6632722C2989467C1BFC8E8D978DFB425D2685C2573,
    0x6484AA716545CA2CF3A70C3FA8FE337E0A3D21162F0D6299A7BF8192BFD2A76F,
    1,
)

_DIGEST_BYTES, _BLOCK_BYTES = 32, 64
_ELEMENT_BYTES = 48
"""Drawn for each field element: enough that its remainder is uniform up to 2^-128."""


def hash_to_curve(message: bytes, tag: bytes) -> Point:
    """A point that depends on every bit of the message (RFC 9380, section 3).

    Args:
        tag: separates uses of the function, 1 to 255 bytes.

    Raises:
        ValueError: the tag has another length, or the message hashes to infinity, for which no message is
            known.
    """
    # Step 1: u = hash_to_field(msg, 2) (section 5.2): 48 bytes for each of two numbers modulo p.
    uniform = _expanded(message, tag, 2 * _ELEMENT_BYTES)
    elements = (int.from_bytes(half, "big") for half in (uniform[:_ELEMENT_BYTES], uniform[_ELEMENT_BYTES:]))
    # Steps 2 to 4: Q0 + Q1. Step 5 changes nothing: the cofactor is 1.
    point = combine([_mapped(element % _P) for element in elements])
    if point is None:
        raise ValueError("the message hashes to the point at infinity")
    return point


def _expanded(message: bytes, tag: bytes, length: int) -> bytes:
    """expand_message_xmd with SHA-256 (RFC 9380, section 5.3.1)."""
    if not 1 <= len(tag) <= 255:
        raise ValueError(f"the tag must have 1 to 255 bytes, not {len(tag)}")
    # Step 3: DST_prime. Steps 1 and 2: the one length asked for takes 3 blocks.
    suffix = tag + bytes((len(tag),))
    # Steps 4 to 7: b_0 = H(Z_pad ‖ msg ‖ length ‖ 0 ‖ DST_prime).
    first = hashlib.sha256(
        bytes(_BLOCK_BYTES) + message + length.to_bytes(2, "big") + b"\0" + suffix
    ).digest()
    # Steps 8 to 10: b_i = H((b_0 ⊕ b_{i−1}) ‖ i ‖ DST_prime); zeros before b_1 give step 8.
    block, blocks = bytes(_DIGEST_BYTES), b""
    for number in range(1, -(-length // _DIGEST_BYTES) + 1):
        mixed = bytes(a ^ b for a, b in zip(first, block, strict=True))
        block = hashlib.sha256(mixed + bytes((number,)) + suffix).digest()
        blocks += block
    # Steps 11 and 12: b_1 ‖ b_2 ‖ …, cut to the length.
    return blocks[:length]


def _mapped(u: int) -> Point:
    """The simplified map of Shallue, van de Woestijne and Ulas, then the map of degree 3 (section 6.6.3)."""
    # Section 6.6.2, step 1: the inverse of Z²u⁴ + Zu².
    zu2 = _Z * u * u % _P
    denominator = (zu2 * zu2 + zu2) % _P
    # Steps 2 and 3: x1 = (−B/A)·(1 + tv1), or B/(Z·A) if there is no inverse. For no other u is x1 = 0: then
    # Zu² would be a cube root of 1, which is a square, but Z is none.
    x = -_B * pow(_A, -1, _P) * (1 + pow(denominator, -1, _P)) % _P if denominator else 0
    x = x or _B * pow(_Z * _A, -1, _P) % _P
    # Steps 4 and 7: y = √g(x1), if g(x1) is a square.
    y = _root(_curve(x))
    if y is None:
        # Steps 5, 6 and 8: else x2 = Zu²·x1, and y = √g(x2).
        x = zu2 * x % _P
        y = _root(_curve(x))
        if y is None:
            raise ArithmeticError("neither of two numbers is a square, but one must be")
    # Step 9: y gets the sign of u, which is its lowest bit (section 4.1).
    if u % 2 != y % 2:
        y = -y % _P
    # Section 6.6.3, step 2: iso_map, by the polynomials of appendix E.1.
    mapped_x = _at(_X_NUMERATOR, x) * pow(_at(_X_DENOMINATOR, x), -1, _P) % _P
    mapped_y = y * _at(_Y_NUMERATOR, x) * pow(_at(_Y_DENOMINATOR, x), -1, _P) % _P
    point = parse(b"\4" + mapped_x.to_bytes(32, "big") + mapped_y.to_bytes(32, "big"))
    if point is None:
        raise ArithmeticError("the map leads off the curve")
    return point


def _curve(x: int) -> int:
    return (x * x * x + _A * x + _B) % _P


def _root(value: int) -> int | None:
    """A square root, because the field's order is 3 modulo 4; None if there is none."""
    root = pow(value, (_P + 1) // 4, _P)
    return root if root * root % _P == value else None


def _at(coefficients: tuple[int, ...], x: int) -> int:
    result = 0
    for coefficient in reversed(coefficients):
        result = (result * x + coefficient) % _P
    return result

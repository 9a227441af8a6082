"""Signatures with points of every order, made from the equations of the curve (RFC 8032, section 5.1).

Coordinates are affine and every step is the definition: slow, and made of nothing that the product uses.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

P = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, P) % P

Point = tuple[int, int]
NEUTRAL: Point = (0, 1)

SECRETS = {"A": 0x1234567890ABCDEF, "R": 0xFEDCBA0987654321}
"""Which multiples of the base point keys and first halves of signatures are, but for parts of low order."""

MESSAGES = 64
"""So many are tried; that none of them fits a pair of points has the probability (7/8)^64 = 2e-4 at most, and
the same ones are tried each time."""


def added(p: Point, q: Point) -> Point:
    (x1, y1), (x2, y2) = p, q
    product = D * x1 * x2 * y1 * y2 % P
    x = (x1 * y2 + y1 * x2) * pow(1 + product, -1, P) % P
    y = (y1 * y2 + x1 * x2) * pow(1 - product, -1, P) % P
    return x, y


def times(factor: int, point: Point) -> Point:
    result = NEUTRAL
    while factor:
        result = added(result, point) if factor & 1 else result
        point = added(point, point)
        factor >>= 1
    return result


def with_y(y: int) -> Point | None:
    """The point with this y and an even x; None where there is none."""
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(square, (P + 3) // 8, P)
    if x * x % P != square:
        x = x * pow(2, (P - 1) // 4, P) % P
    if x * x % P != square:
        return None
    return (P - x if x % 2 else x), y


def found(y: int) -> Point:
    point = with_y(y)
    assert point is not None
    return point


BASE = found(4 * pow(5, -1, P) % P)


def of_order_8() -> Point:
    """A generator of the points of low order."""
    for y in range(2, 100):
        point = with_y(y)
        low = NEUTRAL if point is None else times(ORDER, point)
        if times(4, low) != NEUTRAL:
            return low
    raise AssertionError


EIGHTH = of_order_8()
LOW = [times(number, EIGHTH) for number in range(8)]
"""All points of low order, as multiples of one."""


def encodings(point: Point) -> Iterator[bytes]:
    """The one of the standard, and then all others that a lenient reader takes for this point."""
    x, y = point
    yield (y | (x & 1) << 255).to_bytes(32, "little")
    for number in (y, y + P):
        for sign in (0, 1):
            encoded = (number | sign << 255).to_bytes(32, "little") if number < 2**255 else b""
            if encoded and (x == 0 or sign == x & 1) and (number, sign) != (y, x & 1):
                yield encoded


@dataclass(frozen=True)
class Half:
    """A point in one of its encodings: `secret` times the base point and `low` times `EIGHTH`."""

    encoded: bytes
    secret: int
    low: int
    canonical: bool


def halves(secret: int) -> list[Half]:
    """Every encoding of every point of low order; and a point of prime order with every part of low order,
    none first."""
    lowest = [
        Half(encoded, 0, low, number == 0)
        for low, point in enumerate(LOW)
        for number, encoded in enumerate(encodings(point))
    ]
    prime = times(secret, BASE)
    mixed = [Half(next(encodings(added(prime, point))), secret, low, True) for low, point in enumerate(LOW)]
    return lowest + mixed


@dataclass(frozen=True)
class Case:
    """A signature that fits its message, but for parts of low order.

    Attributes:
        fits: whether those parts cancel out, so that it holds without the cofactor, too.
    """

    key: Half
    point: Half
    message: bytes
    scalar: int
    fits: bool

    @property
    def signature(self) -> bytes:
        return self.point.encoded + self.scalar.to_bytes(32, "little")

    @property
    def is_plain(self) -> bool:
        """As an honest signer makes it: both points are of prime order."""
        return all(half.secret and not half.low for half in (self.key, self.point))


def cases() -> list[Case]:
    """Of every key and every point one signature that fits and one that does not, where there is one."""
    made = []
    for key in halves(SECRETS["A"]):
        for point in halves(SECRETS["R"]):
            both: dict[bool, Case] = {}
            for number in range(MESSAGES):
                message = b"message %d" % number
                hashed = hashlib.sha512(point.encoded + key.encoded + message).digest()
                challenge = int.from_bytes(hashed, "little") % ORDER
                scalar = (point.secret + challenge * key.secret) % ORDER
                fits = (point.low + challenge * key.low) % 8 == 0
                both.setdefault(fits, Case(key, point, message, scalar, fits))
            made += [both[fits] for fits in sorted(both, reverse=True)]
    return made

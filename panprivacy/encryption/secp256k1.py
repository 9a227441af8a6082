"""Arithmetic of the curve secp256k1, by libsecp256k1. Operations on secrets take constant time.

libsecp256k1 cannot represent the point at infinity: each function documents what it does if one arises.
"""

import random
from collections.abc import Sequence
from typing import Any

from coincurve import PublicKey as CurvePoint
from coincurve._libsecp256k1 import ffi, lib
from coincurve.context import GLOBAL_CONTEXT
from coincurve.flags import EC_COMPRESSED

GROUP_ORDER = 0xFFFFFFFF_FFFFFFFF_FFFFFFFF_FFFFFFFE_BAAEDCE6_AF48A03B_BFD25E8C_D0364141
"""Order of secp256k1, a prime (SEC 2, section 2.4.1)."""

POINT_BYTES = 33
SCALAR_BYTES = 32

Point = Any
"""A point that is not at infinity: libsecp256k1's `secp256k1_pubkey *`."""


def combine(points: Sequence[Point]) -> Point | None:
    """The sum of one or more points; None if it is the point at infinity."""
    total = ffi.new("secp256k1_pubkey *")
    if lib.secp256k1_ec_pubkey_combine(GLOBAL_CONTEXT.ctx, total, points, len(points)):
        return total
    return None


def serialize(point: Point) -> bytes:
    """The compressed encoding (SEC 1, section 2.3.3), 33 bytes."""
    encoded = ffi.new("unsigned char[33]")
    length = ffi.new("size_t *", POINT_BYTES)
    # Affine: projective coordinates would reveal a point's history.
    lib.secp256k1_ec_pubkey_serialize(GLOBAL_CONTEXT.ctx, encoded, length, point, EC_COMPRESSED)
    return bytes(ffi.buffer(encoded))


def parse(encoded: bytes) -> Point | None:
    """The point, or None if `encoded` is not the encoding of one."""
    point = ffi.new("secp256k1_pubkey *")
    if lib.secp256k1_ec_pubkey_parse(GLOBAL_CONTEXT.ctx, point, encoded, len(encoded)):
        return point
    return None


def scalar_bytes(value: int) -> bytes:
    """An integer modulo the group's order, in 32 bytes."""
    return (value % GROUP_ORDER).to_bytes(SCALAR_BYTES, "big")


def draw_scalar(random_source: random.Random) -> int:
    """Uniform on 1..q−1.

    Rejection makes it exact; 256 uniform bits taken modulo q would be 1.3·2^−128 away from
    uniform. How often it repeats (2^−128 of the time) reveals nothing about the accepted value.
    """
    while True:
        value = random_source.getrandbits(8 * SCALAR_BYTES)
        if 0 < value < GROUP_ORDER:
            return value


def multiply_generator(scalar: bytes) -> Point:
    """scalar·G, constant-time. `scalar` is not 0."""
    return CurvePoint.from_valid_secret(scalar).public_key


@ffi.callback(  # type: ignore[untyped-decorator]  # cffi is untyped
    "int(unsigned char *, const unsigned char *, const unsigned char *, void *)"
)
def _copy_coordinates(output: Any, x: Any, y: Any, _data: Any) -> int:
    ffi.memmove(output, x, SCALAR_BYTES)
    ffi.memmove(output + SCALAR_BYTES, y, SCALAR_BYTES)
    return 1


def multiply(point: Point, scalar: bytes) -> Point:
    """scalar·point, constant-time. `scalar` is not 0.

    Diffie-Hellman is libsecp256k1's only constant-time multiplication of an arbitrary
    point (`secp256k1_ec_pubkey_tweak_mul` is not); its hash is replaced by the identity.

    Raises:
        ArithmeticError: the scalar is 0, or not below the order of the group.
    """
    encoded = ffi.new("unsigned char[65]")
    encoded[0] = 4
    if not lib.secp256k1_ecdh(GLOBAL_CONTEXT.ctx, encoded + 1, point, scalar, _copy_coordinates, ffi.NULL):
        raise ArithmeticError("libsecp256k1 refused a scalar multiplication")
    product = ffi.new("secp256k1_pubkey *")
    if not lib.secp256k1_ec_pubkey_parse(GLOBAL_CONTEXT.ctx, product, encoded, 65):
        raise ArithmeticError("libsecp256k1 returned a product that is not on the curve")
    return product

"""XofTurboShake128: seeds and field elements out of a seed (VDAF draft 20, section 6.2)."""

from Cryptodome.Hash import TurboSHAKE128

from panprivacy.formats.errors import FieldError
from panprivacy.protocols.prio3.field import Field, little_endian

SEED_SIZE = 32
VERSION = 18
"""Of the algorithms (section 2), not of the draft; part of every domain separation tag."""

VDAF_CLASS = 0
MAX_DST_SIZE = 65535
"""Bytes of the longest domain separation tag (section 6.2.1)."""

MAX_SEED_SIZE = 255
DOMAIN = 1
"""The domain byte D of TurboSHAKE128(M, D, L) that section 6.2.1 takes."""


def domain_separation_tag(algorithm: int, usage: int, context: bytes) -> bytes:
    """What an output is for: `format_dst` (section 6.2.3), followed by the application context.

    Args:
        algorithm: VDAF identifier, in [0, 2^32).
        usage: in [0, 2^16).
        context: at most 65527 bytes.

    Raises:
        FieldError: the context is too long.
    """
    # `format_dst`: version, class, algorithm, usage.
    tag = bytes([VERSION, VDAF_CLASS]) + algorithm.to_bytes(4, "big") + usage.to_bytes(2, "big")
    if len(tag) + len(context) > MAX_DST_SIZE:
        raise FieldError("context", f"must be at most {MAX_DST_SIZE - len(tag)} bytes, not {len(context)}")
    return tag + context


def prefix(seed_size: int, dst: bytes) -> bytes:
    """The hashed prefix of the seed: the length-prefixed tag and the seed's length (section 6.2.1).

    Raises:
        FieldError: the tag or the seed is too long.
    """
    if len(dst) > MAX_DST_SIZE:
        raise FieldError("dst", f"must be at most {MAX_DST_SIZE} bytes, not {len(dst)}")
    if seed_size > MAX_SEED_SIZE:
        raise FieldError("seed", f"must be at most {MAX_SEED_SIZE} bytes, not {seed_size}")
    # The constructor's m is le(len(dst), 2) ‖ dst ‖ le(len(seed), 1) ‖ seed ‖ binder.
    return len(dst).to_bytes(2, "little") + dst + bytes([seed_size])


def stream(message: bytes, length: int) -> bytes:
    """The first `length` bytes that TurboSHAKE128 makes of prefix ‖ seed ‖ binder (`next`, section 6.2.1)."""
    output: bytes = TurboSHAKE128.new(domain=DOMAIN, data=message).read(length)
    return output


def derive_seed(seed: bytes, dst: bytes, binder: bytes) -> bytes:
    """A fresh seed of 32 bytes (`derive_seed`, section 6.2)."""
    return stream(prefix(len(seed), dst) + seed + binder, SEED_SIZE)


def expand_into_vec(field: Field, seed: bytes, dst: bytes, binder: bytes, length: int) -> list[int]:
    """`length` pseudorandom field elements (`expand_into_vec`, section 6.2)."""
    return elements(field, prefix(len(seed), dst) + seed + binder, length)


def elements(field: Field, message: bytes, length: int) -> list[int]:
    """`length` field elements for prefix ‖ seed ‖ binder (`next_vec`, section 6.2).

    The output is cut into numbers of the size of an element. Both moduli have as many bits as their
    encoding, so that the draft's mask keeps every bit; numbers that are no elements are left out.
    """
    size = field.encoded_size
    xof = TurboSHAKE128.new(domain=DOMAIN, data=message)
    found: list[int] = []
    while len(found) < length:
        # All that is still missing at once; the draft takes one element at a time.
        wanted = (length - len(found)) * size
        numbers = little_endian(xof.read(wanted), size)
        # x &= 2^bits − 1 changes nothing; x below the modulus is an element, any other is skipped.
        found += [number for number in numbers if number < field.modulus]
    return found

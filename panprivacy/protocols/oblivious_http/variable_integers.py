"""Numbers of one, two, four or eight bytes (RFC 9000, section 16)."""

from panprivacy.formats.tls_messages import Reader

LARGEST = 2**62 - 1

_WIDTHS = (1, 2, 4, 8)


def encode(value: int) -> bytes:
    """The shortest encoding of a number from 0 to 2^62 - 1; ValueError for another."""
    for exponent, width in enumerate(_WIDTHS):
        if 0 <= value < 1 << 8 * width - 2:
            return (exponent << 8 * width - 2 | value).to_bytes(width, "big")
    raise ValueError(f"must be 0 to {LARGEST}, not {value}")


def read(reader: Reader) -> int:
    """The number at the reader's position, in any of its encodings; ValueError if it is cut short."""
    first = reader.uint(1)
    width = _WIDTHS[first >> 6]
    return (first & 0x3F) << 8 * (width - 1) | reader.uint(width - 1)

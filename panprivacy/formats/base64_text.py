"""Bytes as text (RFC 4648): base64 with padding, and base64url without padding in its one spelling.

The only module for both. Callers name the wrong field in their own errors; `Base64Error` states what a field
must be.
"""

import base64

_FROM_URL = str.maketrans("-_", "+/")


class Base64Error(ValueError):
    """Invalid text; the message states what it must be, without naming a field."""


def encode(value: bytes) -> str:
    """Base64 with padding (RFC 4648, section 4)."""
    return base64.b64encode(value).decode("ascii")


def decode(text: object, length: int | None = None) -> bytes:
    """The bytes of base64 text. Text need not be what `encode` writes: unused bits may be set.

    Args:
        text: what a client sent; anything but a string is refused.
        length: how many bytes it must be; any number if None.

    Raises:
        Base64Error: not a string, a character outside of the alphabet (white space, `-` and `_` too),
            wrong padding, or another length.
    """
    value = _bytes(text)
    if value is None or length not in (None, len(value)):
        raise _refusal("base64", length)
    return value


def encode_url(value: bytes) -> str:
    """Base64url without padding (RFC 4648, sections 5 and 3.2), the form of identifiers in addresses."""
    return base64.urlsafe_b64encode(value).rstrip(b"=").decode("ascii")


def decode_url(text: object, length: int | None = None) -> bytes:
    """The bytes of base64url text as `encode_url` writes it: no two texts give the same bytes.

    Args:
        text, length: as in `decode`.

    Raises:
        Base64Error: anything that `encode_url` does not write, or another length.
    """
    value = None
    if isinstance(text, str):
        value = _bytes(text.translate(_FROM_URL) + "=" * (-len(text) % 4))
    if value is None or encode_url(value) != text or length not in (None, len(value)):
        raise _refusal("base64url without padding", length)
    return value


def encoded_length(length: int) -> int:
    """How many characters `encode` writes for this number of bytes."""
    return 4 * -(-length // 3)


def _bytes(text: object) -> bytes | None:
    if not isinstance(text, str):
        return None
    try:
        return base64.b64decode(text, validate=True)
    except ValueError:  # binascii.Error, or of characters that are not ASCII
        return None


def _refusal(form: str, length: int | None) -> Base64Error:
    return Base64Error(f"must be {form}" if length is None else f"must be {length} bytes in {form}")

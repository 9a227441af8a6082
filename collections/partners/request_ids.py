"""Identifiers that a site gives its requests, so that a repeated request gets the same answer."""

from partners.problems import refused

REQUEST_BYTES = 16
"""Of the identifier, on both sides."""


def request_of(value: str) -> bytes:
    """The identifier, from hexadecimal digits; Problem that names the field if it is invalid."""
    try:
        decoded = bytes.fromhex(value)
    except ValueError:
        decoded = b""
    if len(decoded) != REQUEST_BYTES or decoded.hex() != value:
        raise refused(f"request: must be {2 * REQUEST_BYTES} lower-case hexadecimal digits.")
    return decoded

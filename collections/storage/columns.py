"""Reading columns that may be empty by their type, but not at this point."""

from typing import TypeVar

T = TypeVar("T")


def stored(value: T | None) -> T:
    """The content of a filled column; ValueError where it is empty."""
    if value is None:
        raise ValueError("a column that must be filled by now is empty")
    return value


def stored_bytes(value: bytes | memoryview | None) -> bytes:
    """The bytes of a filled binary column; ValueError where it is empty."""
    return bytes(stored(value))

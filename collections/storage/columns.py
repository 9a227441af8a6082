"""Reading columns: those that may be empty by their type, but not at this point; and sums of them."""

from typing import Any, TypeVar

from django.db.models import QuerySet, Sum

T = TypeVar("T")


def stored(value: T | None) -> T:
    """The content of a filled column; ValueError if it is empty."""
    if value is None:
        raise ValueError("a column that must be filled by now is empty")
    return value


def stored_bytes(value: bytes | memoryview | None) -> bytes:
    """The bytes of a filled binary column; ValueError if it is empty."""
    return bytes(stored(value))


def optional_bytes(value: bytes | memoryview | None) -> bytes | None:
    """The bytes of a binary column; None if it is empty."""
    return None if value is None else bytes(value)


def total(rows: QuerySet[Any], column: str) -> int:
    """Sum of a column; 0 of no rows."""
    return rows.aggregate(sum=Sum(column))["sum"] or 0

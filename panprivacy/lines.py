"""Texts of a single line, as recipes have them."""

from panprivacy.errors import FieldError


def one_line(field: str, value: object, length: int) -> str:
    """`value` without spaces around it; FieldError unless it is one line of 1 to `length` characters."""
    if not isinstance(value, str) or not value.strip() or len(value) > length or not value.isprintable():
        raise FieldError(field, f"must be one line of 1 to {length} characters")
    return value.strip()

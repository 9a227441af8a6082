"""Texts of a single line, the form of texts in recipes."""

from collections import Counter
from collections.abc import Sequence

from panprivacy.formats.errors import FieldError
from panprivacy.formats.parameters import as_typed


def one_line(field: str, value: object, length: int) -> str:
    """`value` without spaces around it; FieldError unless it is one line of 1 to `length` characters."""
    if not isinstance(value, str) or not value.strip() or len(value) > length or not value.isprintable():
        raise FieldError(field, f"must be one line of 1 to {length} characters")
    return value.strip()


def distinct_lines(field: str, value: object, *, most: int, length: int) -> tuple[str, ...]:
    """A list of such texts; FieldError unless they are 1 to `most`, and differ from each other."""
    if not isinstance(value, Sequence) or isinstance(value, str | bytes):
        raise FieldError(field, f"must be a list of texts, not {as_typed(value)}")
    if not 1 <= len(value) <= most:
        raise FieldError(field, f"must be 1 to {most:,} texts, not {len(value):,}")
    try:
        texts = tuple(one_line(field, text, length) for text in value)
    except FieldError as error:
        raise FieldError(field, f"{error.message} each") from None
    repeated = [text for text, times in Counter(texts).items() if times > 1]
    if repeated:
        raise FieldError(field, f"must differ from each other: {as_typed(repeated[0])} is repeated")
    return texts

"""Lists of items that people hand in: CSV with one column, `item`, or the lines of a form."""

import csv
import io
from collections.abc import Iterable, Iterator

from panprivacy.errors import FieldError
from panprivacy.parameters import as_typed

HEADER = "item"

UNIVERSE_BYTES = 16 * 1024 * 1024
"""Of a body that lists the items of a universe."""


def csv_items(lines: Iterable[str], *, field: str, name: str) -> Iterator[tuple[int, str]]:
    """Every item of a CSV after its header, with the number of its line. Blank lines are skipped.

    Args:
        lines: with their ends, as a file opened with `newline=""` has them.
        field, name: of the input and of what holds the CSV, for refusals.

    Raises:
        FieldError: named `field`, where they are no such CSV.
    """
    try:
        rows = csv.reader(lines, strict=True)
        if next(rows, None) != [HEADER]:
            raise FieldError(field, f"{name} must begin with the line {HEADER}")
        for row in rows:
            if len(row) > 1:
                raise FieldError(field, f"{name} line {rows.line_num:,} must have one column, not {len(row)}")
            for item in row:
                yield rows.line_num, item
    except csv.Error as error:
        raise FieldError(field, f"{name} is not a CSV that can be read: {error}") from None


def typed_universe(text: str) -> list[str]:
    """The universe in a field of a form: one item on each line, or a CSV with its header.

    Without the header, lines are taken as they are, but for blank ones and the blanks around them. A first
    line `item` is always the header, as of a file, whatever number of items is expected: a list of one
    too few must not pass because its header fills the gap.

    Raises:
        FieldError: named `universe`, where an item stands there twice or the CSV cannot be read.
    """
    lines = text.splitlines()
    if lines and lines[0].strip() == HEADER:
        return distinct_items(csv_items(io.StringIO(text, newline=""), field="universe", name="the list"))
    stripped = ((number, line.strip()) for number, line in enumerate(lines, start=1))
    return distinct_items((number, line) for number, line in stripped if line)


def distinct_items(numbered: Iterable[tuple[int, str]]) -> list[str]:
    """The items of a universe without the numbers of their lines; FieldError if one stands there twice."""
    lines: dict[str, int] = {}
    for number, item in numbered:
        first = lines.setdefault(item, number)
        if first != number:
            raise FieldError(
                "universe",
                f"must not list an item twice: {as_typed(item)} is on line {first:,} and on line {number:,}",
            )
    return list(lines)


def listed_universe(value: object) -> list[str] | None:
    """The universe as programs send it: a list of texts, or None; FieldError named `universe` else."""
    if value is None:
        return None
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise FieldError("universe", f"must be a list of texts, not {as_typed(value)}")
    return distinct_items(enumerate(value, start=1))

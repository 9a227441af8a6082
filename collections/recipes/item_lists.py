"""Lists of items that people hand in: CSV with one column, `item`, or the lines of a form."""

import re
from collections.abc import Iterable, Iterator
from typing import BinaryIO

from panprivacy.formats.csv_table import CsvTable, plain_lines
from panprivacy.formats.errors import FieldError
from panprivacy.formats.parameters import as_typed

HEADER = "item"

_IN_QUOTES = re.compile(r'"((?:[^"]|"")*)"')

UNIVERSE_BYTES = 16 * 1024 * 1024
"""Of a body that lists the items of a universe."""


def csv_items(source: BinaryIO | str, *, field: str) -> Iterator[tuple[int, str]]:
    """Every item of a CSV after its header, with the number of its line.

    Args:
        field: of the input, for refusals.

    Raises:
        FieldError: named `field`, if it is no such CSV.
    """
    rows = CsvTable(source, (HEADER,), field=field)
    for (item,) in rows:
        yield rows.line, item


def typed_universe(text: str) -> list[str]:
    """The universe in a field of a form: one item on each line, or a CSV with its header.

    Without the header, each line is an item, but for blank ones. Blanks and quotes around it are left out. A
    first line with a cell `item`, in quotes or not, is always the header, as of a file, whatever number of
    items is expected: a list of one too few must not pass because its header fills the gap.

    Raises:
        FieldError: named `universe`, if it has an item twice or the CSV cannot be read.
    """
    lines = plain_lines(text, field="universe")
    first = next((line for line in lines if line.strip()), "")
    if HEADER in (cell.strip(' "').lower() for cell in first.split(",")):
        return distinct_items(csv_items(text, field="universe"))
    stripped = ((number, line.strip()) for number, line in enumerate(lines, start=1))
    return distinct_items((number, _unquoted(line)) for number, line in stripped if line)


def _unquoted(line: str) -> str:
    quoted = _IN_QUOTES.fullmatch(line)
    return line if quoted is None else quoted[1].replace('""', '"')


def distinct_items(numbered: Iterable[tuple[int, str]]) -> list[str]:
    """The items of a universe without the numbers of their lines; FieldError if one is repeated."""
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
    """The universe as programs send it: a list of texts, or None; FieldError named `universe` otherwise."""
    if value is None:
        return None
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise FieldError("universe", f"must be a list of texts, not {as_typed(value)}")
    return distinct_items(enumerate(value, start=1))

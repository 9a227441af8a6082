"""Reading CSV files with one column, `item`: streams, and the universes they are over."""

import csv
from collections.abc import Iterator
from pathlib import Path

from panprivacy.errors import FieldError

HEADER = "item"


def read_items(path: Path, *, field: str) -> Iterator[str]:
    """The items of a file in their order, line by line. Blank lines are skipped.

    Raises:
        FieldError: named `field`, where the file cannot be read or is no such CSV.
    """
    try:
        if path.exists() and not path.is_file():
            # A pipe would be waited for, and can be read only once.
            raise FieldError(field, f"{path} is not a regular file")
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = csv.reader(file, strict=True)
            if next(rows, None) != [HEADER]:
                raise FieldError(field, f"{path} must begin with the line {HEADER}")
            for row in rows:
                if len(row) > 1:
                    raise FieldError(
                        field, f"{path} line {rows.line_num:,} must have one column, not {len(row)}"
                    )
                yield from row
    except OSError as error:
        raise FieldError(field, f"{path} cannot be read: {error.strerror}") from None
    except (UnicodeDecodeError, csv.Error) as error:
        reason = "it is not UTF-8" if isinstance(error, UnicodeDecodeError) else str(error)
        raise FieldError(field, f"{path} is not a CSV that can be read: {reason}") from None

"""Reading CSV files with one column, `item`: streams, and the universes they are over."""

from collections.abc import Iterator
from pathlib import Path

from panprivacy.formats.errors import FieldError
from recipes.item_lists import csv_items


def read_items(path: Path, *, field: str) -> Iterator[tuple[int, str]]:
    """The items of a file in their order, each with the number of its line. Blank lines are skipped.

    Raises:
        FieldError: named `field`, if the file cannot be read or is no such CSV.
    """
    try:
        if path.exists() and not path.is_file():
            # A pipe would be waited for, and can be read only once.
            raise FieldError(field, f"{path} is not a regular file")
        with path.open("rb") as file:
            yield from csv_items(file, field=field)
    except OSError as error:
        raise FieldError(field, f"{path} cannot be read: {error.strerror}") from None

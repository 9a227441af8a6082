"""The attributes of devices, for recipes that ask a part of them. They never leave a device."""

from pathlib import Path

from panprivacy.formats.csv_table import plain_lines
from panprivacy.formats.errors import FieldError
from panprivacy.recipe.targeting.attributes import FIELD, own_attributes

NONE_GIVEN = FieldError(FIELD, "is missing: the recipe asks devices with certain ones only (--attributes)")


def read_attributes(text: str) -> dict[str, str]:
    """A device's own, e.g. `os=linux,region=eu`, or the name of a file with them, in one line or more.

    Raises:
        FieldError: named `attributes`; the file is not UTF-8 text, or not of this form.
        OSError: the file cannot be read.
    """
    if "=" in text or not text.strip():
        return own_attributes(text)
    with Path(text).open("rb") as file:
        return own_attributes(",".join(line for line in plain_lines(file, field=FIELD) if line.strip()))

"""Rows of a CSV file with a given header, refused by line and column where something is wrong."""

import csv
import functools
from collections.abc import Iterator, Sequence
from typing import BinaryIO

from panprivacy.errors import FieldError

LINE_BYTES = 1 << 20
DEVICE_NAME_LENGTH = 200
LONGEST_SHOWN = 60
"""Characters of what was found that a refusal repeats."""


class CsvRows:
    """The rows below the header, each with as many columns as it has. Iterate once.

    Args:
        file: UTF-8 text, with or without a byte order mark. Empty lines are passed over.
        header: names of the columns; case and surrounding spaces do not matter.
        optional: name of one more column at the end, which a file may have; rows then have it too.

    Raises:
        FieldError: from the iteration, at the first thing wrong; says in which line.
    """

    def __init__(self, file: BinaryIO, header: Sequence[str], optional: str = "") -> None:
        self._reader = csv.reader(_lines(file), strict=True)
        self._header = list(header)
        self._optional = optional

    @property
    def header(self) -> tuple[str, ...]:
        """The columns; the optional one only once it was read."""
        return tuple(self._header)

    @property
    def line(self) -> int:
        """Number of the line that was read last, from 1."""
        return self._reader.line_num

    def __iter__(self) -> Iterator[list[str]]:
        named = ",".join(self._header) + (f" (or with {self._optional} at the end)" if self._optional else "")
        try:
            header = next(self._reader, None)
            if header is None:
                raise FieldError("file", f"is empty; line 1 must be the header {named}")
            read = [name.strip().lower() for name in header]
            if self._optional and read == [*self._header, self._optional]:
                self._header = read
            if read != self._header:
                found = shown(",".join(header)) if header else "empty"
                raise FieldError(self._header[0], f"line 1 must be the header {named}, not {found}")
            columns, named = len(read), ",".join(read)
            for row in self._reader:
                if len(row) == columns:
                    yield row
                elif row:
                    raise FieldError(
                        self._header[min(len(row), columns - 1)],
                        f"line {self.line} must have {columns} columns ({named}), not {len(row)}",
                    )
        except csv.Error as error:
            raise FieldError("file", f"line {self.line}: {error}") from None

    def require_device_name(self, name: str) -> None:
        """FieldError unless `name`, in column 1 of the line read last, can be a device's."""
        if not name or len(name) > DEVICE_NAME_LENGTH or name.isspace():
            raise FieldError(
                "device",
                f"line {self.line}, column 1: must be a name of 1 to {DEVICE_NAME_LENGTH} characters",
            )


def shown(value: object) -> str:
    """What was found, shortened."""
    text = repr(value)
    return text if len(text) <= LONGEST_SHOWN else text[: LONGEST_SHOWN - 3] + "…"


def _lines(file: BinaryIO) -> Iterator[str]:
    lines = iter(functools.partial(file.readline, LINE_BYTES), b"")
    encoding = "utf-8-sig"
    for number, line in enumerate(lines, 1):
        if len(line) == LINE_BYTES and not line.endswith(b"\n"):
            raise FieldError("file", f"line {number}: must be shorter than {LINE_BYTES} bytes")
        if b"\0" in line:
            raise FieldError("file", f"line {number}: must be UTF-8 text without NUL characters")
        try:
            yield line.decode(encoding)
        except UnicodeDecodeError as error:
            raise FieldError("file", f"line {number}: must be UTF-8 text ({error.reason})") from None
        encoding = "utf-8"

"""CSV from people: one reader for every file and form, and one sentence for each fault.

The form is RFC 4180's. A text is UTF-8, with or without a byte order mark. A line ends with LF, CRLF or CR. A
cell may stand in quotes; it must if it has a comma, a quote or a line end, and the quote is then doubled.
Empty lines are passed over. A Ctrl-Z (0x1A) at the very end, with which DOS ended files, is no content.
"""

import codecs
import io
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import BinaryIO

from panprivacy.formats.errors import FieldError
from panprivacy.formats.parameters import as_typed

ROW_BYTES = 1 << 20
"""Most bytes of a line, and of all lines of one row."""

_BLOCK_BYTES = 1 << 16
_SHOWN_COLUMNS = 5
"""Of a longer header, not all columns are named."""

_QUOTE = '"'
_QUOTED = r'"([^"]*+(?:""[^"]*+)*+)'
_CELL = re.compile(rf'(?:{_QUOTED}"|([^",]*))(,|\Z)')
_UNCLOSED = re.compile(rf"{_QUOTED}\Z")
_LINE_END = re.compile(r"\r\n|\r|\n")
_OTHER_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_BE)
"""Byte order marks of UTF-16 and UTF-32; that of little-endian UTF-32 begins like that of UTF-16."""


class CsvTable:
    """The rows below a header, read once and bit by bit, however many there are.

    Attributes:
        columns: the names in the header, in lower case and without spaces around them.
        line: the number of the line in which the last row begins, from 1.
        last_line: in which it ends.

    Args:
        source: the text; a file is read from its current position.
        columns: that the header must begin with, in lower case; cases and spaces around names do not matter.
        field: named in refusals of the text: the option, argument or box that it came from.
        optional: columns that may follow these, in this order.
        others: how further columns, of any names, are named in refusals; at least one must follow. Empty if
            there are none.

    Raises:
        FieldError: named `field`, for the first thing wrong with the header; from an iteration, for the first
            thing wrong with a row. It names the line.
    """

    def __init__(
        self,
        source: BinaryIO | str,
        columns: Sequence[str],
        *,
        field: str,
        optional: Sequence[str] = (),
        others: str = "",
    ) -> None:
        self._field = field
        self.line = self.last_line = 0
        self._rows = self._read(_lines(source, field))
        wanted = header_text([*columns, others] if others else columns)
        if optional:
            wanted += f" (or with {', '.join(optional)} at the end)"
        header = next(filter(None, self._rows), None)
        if header is None:
            raise FieldError(field, f"is empty; line 1 must be the header {wanted}")
        at = self.line
        self.columns = tuple(name.strip().lower() for name in header)
        begins = self.columns[: len(columns)] == tuple(columns)
        more = self.columns[len(columns) :]
        twice = [name for name, times in Counter(self.columns).items() if times > 1]
        if begins and twice:
            raise self._refusal(at, f"must name each column once, not {as_typed(twice[0])} twice")
        follow = bool(more) if others else list(more) == [name for name in optional if name in more]
        if not begins or not follow:
            raise self._refusal(at, f"must be the header {wanted}, not {as_typed(','.join(header))}")

    def __iter__(self) -> Iterator[list[str]]:
        """The rows, each with one cell for each column."""
        columns = len(self.columns)
        for row in self._rows:
            if len(row) == columns:
                yield row
            elif row:
                self.require_whole(row)

    def unchecked(self) -> Iterator[list[str]]:
        """The rows, whatever number of cells they have, for a reader that reports more than one fault."""
        return filter(None, self._rows)

    def require_whole(self, row: Sequence[str]) -> None:
        """FieldError unless the last row has one cell for each column."""
        columns = len(self.columns)
        if len(row) != columns:
            cells = "1 cell" if columns == 1 else f"{columns:,} cells"
            raise self._refusal(
                self.line, f"must have {cells} ({header_text(self.columns)}), not {len(row):,}"
            )

    def _read(self, lines: Iterator[str]) -> Iterator[list[str]]:
        """The cells of every row; of an empty line, none."""
        for line in lines:
            self.line = self.last_line = self.last_line + 1
            if _QUOTE in line:
                yield self._quoted(line, lines)
            else:
                text = line.rstrip("\r\n")
                yield text.split(",") if text else []

    def _quoted(self, line: str, lines: Iterator[str]) -> list[str]:
        """The cells of a row with quotes that begins in this line, and may continue in the next ones."""
        row, quotes, length = [line], line.count(_QUOTE), 0
        # While their number is odd, a quote is open or misplaced; the latter is found below.
        while quotes % 2 and length <= ROW_BYTES and (line := next(lines, "")):
            row.append(line)
            quotes += line.count(_QUOTE)
            length += len(line.encode())
        self.last_line += len(row) - 1
        text = _without_end("".join(row))
        cells: list[str] = []
        at = 0
        while found := _CELL.match(text, at):
            quoted, plain, comma = found.groups()
            cells.append(plain if quoted is None else quoted.replace('""', _QUOTE))
            at = found.end()
            if not comma:
                return cells
        number = self.line + len(_LINE_END.findall(text, 0, at))
        place = f"line {number}, column {len(cells) + 1}"
        if not _UNCLOSED.match(text, at):
            fault = "has a quote that is not doubled, or that is in a cell without quotes around it"
        elif length > ROW_BYTES:
            raise _too_long(self._field, self.line)
        else:
            fault = "begins with a quote that is not closed"
        raise FieldError(self._field, f"{place}: {fault}")

    def _refusal(self, line: int, message: str) -> FieldError:
        return FieldError(self._field, f"line {line}: {message}")


def plain_lines(source: BinaryIO | str, *, field: str) -> list[str]:
    """The lines of a text that is no CSV, without their ends; otherwise the same rules as for CSV.

    Raises:
        FieldError: named `field`; the message has the line.
    """
    return [_without_end(line) for line in _lines(source, field)]


def header_text(columns: Sequence[str]) -> str:
    """A header for people: if it has many columns, the first ones and the last."""
    return ",".join(columns if len(columns) <= _SHOWN_COLUMNS else (*columns[:2], "…", columns[-1]))


def _lines(source: BinaryIO | str, field: str) -> Iterator[str]:
    """Lines with their ends."""
    # A lone surrogate is no UTF-8, and refused as in a file.
    file = io.BytesIO(source.encode("utf-8", "surrogatepass")) if isinstance(source, str) else source
    for number, line in enumerate(_split(file), start=1):
        if number == 1 and line.startswith(_OTHER_MARKS):
            raise FieldError(field, "line 1: must be UTF-8 text, not UTF-16 or UTF-32")
        if len(line) > ROW_BYTES:
            raise _too_long(field, number)
        if b"\0" in line:
            raise FieldError(field, f"line {number}: must be UTF-8 text without NUL characters")
        try:
            text = line.decode()
        except UnicodeDecodeError as error:
            raise FieldError(field, f"line {number}: must be UTF-8 text ({error.reason})") from None
        yield text


def _split(file: BinaryIO) -> Iterator[bytes]:
    """Lines with their ends, without mark and closing Ctrl-Z; of a line that is too long, a part that is."""
    rest = file.read(_BLOCK_BYTES).removeprefix(codecs.BOM_UTF8)
    while block := file.read(_BLOCK_BYTES):
        *lines, rest = (rest + block).splitlines(keepends=True)
        yield from lines
        # The last one may continue, if only by the LF of a CRLF.
        if len(rest) > ROW_BYTES:
            yield rest
            return
    yield from rest.removesuffix(b"\x1a").splitlines(keepends=True)


def _without_end(line: str) -> str:
    return line.removesuffix("\n").removesuffix("\r")


def _too_long(field: str, line: int) -> FieldError:
    return FieldError(
        field, f"line {line}: must be shorter than {ROW_BYTES:,} bytes, with all lines within its quotes"
    )

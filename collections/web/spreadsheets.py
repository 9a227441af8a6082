"""CSV files, which people open in a spreadsheet."""

import csv
import io
import re
from collections.abc import Iterable

FORMULA_SIGNS = "=⁼₌﹦＝⩴⩵⩶+⁺₊﬩﹢＋-−⁻₋﹣－@﹫＠"
"""With which a formula begins, also as wide, small, raised or lowered signs: some spreadsheets read these as
the plain ones."""

_UNSEEN = r"\s\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff"
"""Blanks, controls and marks that show nothing."""

_FORMULA = re.compile(
    # A spreadsheet whose language separates cells by semicolons, and what is pasted, begins cells at these.
    rf"(^|[;；\t\r\n])(?=[{_UNSEEN}\"]*[{re.escape(FORMULA_SIGNS)}])"
    # Blanks at which some begin to read.
    r"|^(?=[\t\r\n])"
)


def csv_lines(rows: Iterable[Iterable[object]]) -> str:
    """Rows as lines of CSV, with no cell that a spreadsheet would run (`inert`)."""
    lines = io.StringIO()
    csv.writer(lines).writerows(map(inert, row) for row in rows)
    return lines.getvalue()


def inert(value: object) -> object:
    """The value; in a text, an apostrophe precedes all that a spreadsheet would run as a formula."""
    return _FORMULA.sub(r"\1'", value) if isinstance(value, str) else value

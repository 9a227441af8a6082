"""No cell of an export is run by a spreadsheet, whatever its language."""

import csv
import re
import unicodedata
from pathlib import Path
from sys import maxunicode

import pytest

from web.spreadsheets import FORMULA_SIGNS, csv_lines, inert

HARMLESS = ("", "a=1", "1; 2", "a;b", "'=1", "1-2", "a, =1", "2027-03-01T00:00:00Z", "3f+a", '{"low": -1}')
MARKED = {
    "=1+1": "'=1+1",
    "＝1+1": "'＝1+1",
    "＋1": "'＋1",
    "－1": "'－1",
    "＠SUM(A1)": "'＠SUM(A1)",
    "﹦1": "'﹦1",
    "−1": "'−1",
    " =1": "' =1",
    "\ufeff=1": "'\ufeff=1",
    "a;=1": "a;'=1",
    "a; ＝1;b;-2": "a;' ＝1;b;'-2",
    'a;"=1': "a;'\"=1",
    "a\n=1": "a\n'=1",
    "a\t@b": "a\t'@b",
    "\tb": "'\tb",
    "\r\nb": "'\r\nb",
    "\r=b": "'\r'=b",
}


def test_inert_marks_every_formula_and_leaves_what_is_none() -> None:
    assert {text: inert(text) for text in MARKED} == MARKED
    for text in (*HARMLESS, *MARKED.values(), 1, -1.5, None, True):
        assert inert(text) == text


def test_signs_are_all_that_unicode_takes_for_one_of_them() -> None:
    plain = ("=", "+", "-", "@", "::=", "\N{MINUS SIGN}")
    alike = {chr(code) for code in range(maxunicode) if unicodedata.normalize("NFKC", chr(code)) in plain}
    double = {sign for sign in "⩵⩶" if unicodedata.normalize("NFKC", sign)[0] == "="}
    assert set(FORMULA_SIGNS) == alike | double | set("=+-@")


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_lines_have_no_formula_however_cells_are_separated(separator: str) -> None:
    rows = [[text, other, 1.5, None] for text in MARKED for other in MARKED]
    lines = csv_lines(rows).splitlines(keepends=True)
    for row in csv.reader(lines, delimiter=separator):
        for cell in row:
            assert not re.match(rf"[\s\ufeff]*[{re.escape(FORMULA_SIGNS)}]", cell), row


def test_lines_are_those_of_csv_with_numbers_as_they_are() -> None:
    assert csv_lines([["a", 1], ['b"', -0.5], ["c,", None]]) == 'a,1\r\n"b""",-0.5\r\n"c,",\r\n'


def test_no_other_module_writes_csv_but_where_cells_are_exact() -> None:
    """An export that is written past `csv_lines` has no guard."""
    root = Path(__file__).parents[3]
    writing = {
        str(path.relative_to(root))
        for folder in ("collections", "panapp")
        for path in (root / folder).rglob("*.py")
        if re.search(r"csv\.(writer|DictWriter)|import .*\b(writer|DictWriter)\b", path.read_text())
    }
    assert writing == {
        "collections/web/spreadsheets.py",
        "collections/tokens/attester/management/commands/attester.py",
        "collections/simulations/collect/series_simulation.py",
    }

"""The one reader of CSV: what csv writes comes back; bad text is refused by line and column."""

import csv
import io
import tracemalloc
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from panprivacy.formats.csv_table import ROW_BYTES, CsvTable, header_text, plain_lines
from panprivacy.formats.errors import FieldError

TEXTS = st.text(st.characters(exclude_characters="\0", codec="utf-8"), max_size=8)


class Pieces(io.RawIOBase):
    """A file that hands out few bytes at a time, as a pipe may."""

    def __init__(self, content: bytes, size: int) -> None:
        self._content, self._size = io.BytesIO(content), size

    def read(self, size: int = -1) -> bytes:
        return self._content.read(min(size, self._size))


def read(source: bytes | str, columns: tuple[str, ...] = ("a", "b"), **options) -> list[list[str]]:
    file = source if isinstance(source, str) else io.BytesIO(source)
    return list(CsvTable(file, columns, field="file", **options))


def refusal(source: bytes | str, columns: tuple[str, ...] = ("a", "b"), **options) -> str:
    with pytest.raises(FieldError) as refused:
        read(source, columns, **options)
    assert refused.value.field == "file"
    assert len(refused.value.message) < 200
    return refused.value.message


@given(
    rows=st.lists(st.tuples(TEXTS, TEXTS, TEXTS)),
    quoting=st.sampled_from([csv.QUOTE_ALL, csv.QUOTE_MINIMAL, csv.QUOTE_NONNUMERIC]),
    end=st.sampled_from(["\r\n", "\n", "\r"]),
    mark=st.booleans(),
    size=st.integers(1, 40),
)
def test_rows_that_csv_writes_come_back(rows, quoting, end, mark, size):
    if quoting == csv.QUOTE_MINIMAL:
        end = "\r\n"  # with another, Python 3.11 leaves the other line ends without quotes
    written = io.StringIO()
    csv.writer(written, quoting=quoting, lineterminator=end).writerows([("a", "b", "c"), *rows])
    content = written.getvalue().encode("utf-8-sig" if mark else "utf-8")
    table = CsvTable(Pieces(content, size), ("a", "b", "c"), field="file")
    assert list(table) == [list(row) for row in rows]


@given(st.binary(max_size=40), st.integers(1, 5))
def test_any_bytes_are_rows_of_two_cells_or_refused(content, size):
    table = CsvTable(Pieces(b"a,b\n" + content, size), ("a", "b"), field="file")
    with suppress(FieldError):
        assert all(len(row) == 2 for row in table)
    assert 1 <= table.line <= table.last_line <= 1 + len(content)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("last", ["", "END", "\x1a", "END\x1a", "ENDEND\x1a"])
def test_line_ends_and_a_closing_ctrl_z_are_no_content(end, last):
    content = f' "A" , b{end}'.replace(' "A" ', '"A "') + f"1,2{end}{end}" + '"3","x, ""y"""'
    assert read(content + last.replace("END", end)) == [["1", "2"], ["3", 'x, "y"']]


def test_lines_are_counted_where_rows_begin_and_end():
    table = CsvTable('a,b\n\n1,"x\r\ny"\r2,z\n', ("a", "b"), field="file")
    assert [(table.line, table.last_line, row[1]) for row in table] == [(3, 4, "x\r\ny"), (5, 5, "z")]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is empty; line 1 must be the header a,b"),
        ("\n1,2\n", 'line 2: must be the header a,b, not "1,2"'),
        ("b,a\n", 'line 1: must be the header a,b, not "b,a"'),
        ("a\n", 'line 1: must be the header a,b, not "a"'),
        ("1,1\n", 'line 1: must be the header a,b, not "1,1"'),
        ("a;b\n", 'line 1: must be the header a,b, not "a;b"'),
        ("a,b,c\n", 'line 1: must be the header a,b, not "a,b,c"'),
        ("a,b,A\n", 'line 1: must name each column once, not "a" twice'),
        ("a,b\n1\n", "line 2: must have 2 cells (a,b), not 1"),
        ('a,b\n"1\n","2"\n1,2,3\n', "line 4: must have 2 cells (a,b), not 3"),
        ("a,b\n1,\0\n", "line 2: must be UTF-8 text without NUL characters"),
        (b"a,b\n1,2\n\xe9,2\n", "line 3: must be UTF-8 text (invalid continuation byte)"),
        ("a,b\n1,\ud800\n", "line 2: must be UTF-8 text (invalid continuation byte)"),
        ("a,b\n".encode("utf-16"), "line 1: must be UTF-8 text, not UTF-16 or UTF-32"),
        ("a,b\n".encode("utf-32"), "line 1: must be UTF-8 text, not UTF-16 or UTF-32"),
        ("a,b\n".encode("utf-16-be"), "line 1: must be UTF-8 text without NUL characters"),
        ('a,b\n1,"x\n2,y\n', "line 2, column 2: begins with a quote that is not closed"),
        ('a,b\n"""x,1\n', "line 2, column 1: begins with a quote that is not closed"),
        ('"a,b\n', "line 1, column 1: begins with a quote that is not closed"),
    ],
)
def test_wrong_text_is_refused_with_line_and_column(content, message):
    assert refusal(content) == message


@pytest.mark.parametrize("cell", ['x"y', 'x"', '"x"y', ' "x"', '"x" ', '"x"y"', 'x""y'])
def test_a_stray_quote_is_refused_where_its_cell_stands(cell):
    message = "has a quote that is not doubled, or that is in a cell without quotes around it"
    for following in ("", '1,"2"\n' * 3):
        assert refusal(f'a,b\n"\n",1\n1,{cell}\n{following}') == f"line 4, column 2: {message}"


@pytest.mark.parametrize("line", ["x" * (ROW_BYTES + 1) + ",1\n", '"' + "x\n" * ROW_BYTES])
def test_a_row_that_is_too_long_is_refused_before_it_is_read(line):
    content = ("a,b\n" + line * 20).encode()
    tracemalloc.start()
    message = refusal(content)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert message == f"line 2: must be shorter than {ROW_BYTES:,} bytes, with all lines within its quotes"
    # Lines of two bytes take 60 bytes each as texts.
    assert peak < 100 * ROW_BYTES


@pytest.mark.parametrize(
    ("header", "columns"),
    [("a,b", "a,b"), ("a,b,x", "a,b,x"), ("a,b,y", "a,b,y"), ("A, B ,X,y", "a,b,x,y"), ("a,b,y,x", "")],
)
def test_optional_columns_follow_in_their_order(header, columns):
    if columns:
        table = CsvTable(header, ("a", "b"), field="file", optional=("x", "y"))
        assert ",".join(table.columns) == columns
    else:
        expected = f'line 1: must be the header a,b (or with x, y at the end), not "{header}"'
        assert refusal(header, optional=("x", "y")) == expected


def test_other_columns_have_any_names_and_one_must_follow():
    assert read('a,"Z",q\n1,2,3', ("a",), others="NAME,…") == [["1", "2", "3"]]
    assert refusal("a", ("a",), others="NAME,…") == 'line 1: must be the header a,NAME,…, not "a"'


def test_unchecked_rows_can_be_refused_one_by_one():
    table = CsvTable("a,b\n1\n\n2,3\n4,5,6\n", ("a", "b"), field="file")
    found = []
    for row in table.unchecked():
        try:
            table.require_whole(row)
            found.append(row)
        except FieldError as refused:
            found.append(refused.message)
    assert found == [
        "line 2: must have 2 cells (a,b), not 1",
        ["2", "3"],
        "line 5: must have 2 cells (a,b), not 3",
    ]


def test_plain_lines_end_as_in_csv_and_keep_quotes_and_commas():
    content = '\ufeff"a", b\r\n\rc\u2028d\x1e\n\x1a'
    assert plain_lines(content, field="x") == ['"a", b', "", "c\u2028d\x1e"]
    with pytest.raises(FieldError, match="x: line 2: must be UTF-8 text without NUL characters"):
        plain_lines(io.BytesIO(b"a\n\0"), field="x")


def test_long_headers_are_shortened_in_refusals():
    names = [f"x{number}" for number in range(1_000)]
    assert header_text(names) == "x0,x1,…,x999"
    assert refusal(",".join(names) + "\n1\n", tuple(names)).endswith(
        "must have 1,000 cells (x0,x1,…,x999), not 1"
    )

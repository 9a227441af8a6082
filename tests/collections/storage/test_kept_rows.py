"""Rows that never change are read once, and the oldest goes where there are too many."""

import pytest

from storage import kept_rows
from storage.kept_rows import KeptRows


def test_of_too_many_rows_the_one_read_first_goes_and_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_rows, "MOST_ROWS", 3)
    read: list[int] = []

    def row_of(key: int) -> str:
        read.append(key)
        return f"row {key}"

    rows = KeptRows(row_of, lambda row: row != "row 9")
    assert [rows.get(key) for key in (1, 2, 3, 4)] == ["row 1", "row 2", "row 3", "row 4"]
    assert [rows.get(key) for key in (2, 3, 4)] == ["row 2", "row 3", "row 4"]
    assert read == [1, 2, 3, 4]
    rows.get(1)
    rows.get(3)
    rows.get(2)
    assert read == [1, 2, 3, 4, 1, 2]
    for _ in range(2):
        rows.get(9)  # not to be kept
    assert read[-2:] == [9, 9]

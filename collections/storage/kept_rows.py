"""Rows that a process keeps, because what it needs of them never changes."""

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

Key = TypeVar("Key")
Row = TypeVar("Row")

MOST_ROWS = 1_024


class KeptRows(Generic[Key, Row]):
    """Rows by a name of theirs; what may change of them is older than the database's.

    One thread reads at a time: if many requests come at once, few connections are used.

    Args:
        read: the row of that name from the database; raises if there is none.
        is_kept: whether the row may be kept, as it was read.
    """

    def __init__(self, read: Callable[[Key], Row], is_kept: Callable[[Row], bool]) -> None:
        self._read = read
        self._is_kept = is_kept
        self._rows: OrderedDict[Key, Row] = OrderedDict()
        self._reading = threading.Lock()

    def get(self, key: Key) -> Row:
        """The row as it was at some time."""
        row = self._rows.get(key)
        return self._get(key) if row is None else row

    def read_again(self, key: Key) -> Row:
        """The present row; a kept one is forgotten."""
        self._rows.pop(key, None)
        return self._read(key)

    def clear(self) -> None:
        """Forget all rows."""
        self._rows.clear()

    def _get(self, key: Key) -> Row:
        with self._reading:
            row = self._rows.get(key)
            if row is None:
                row = self._read(key)
                if self._is_kept(row):
                    self._rows[key] = row
                    if len(self._rows) > MOST_ROWS:
                        self._rows.popitem(last=False)  # the one that was read first
            return row

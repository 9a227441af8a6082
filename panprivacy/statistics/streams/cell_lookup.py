"""From numbers to cells: a hash table in NumPy, asked for many numbers at once."""

import numpy as np
from numpy.typing import NDArray

SLOTS_PER_ENTRY = 4
"""At least: few enough numbers then share a slot that two or three passes find all."""

MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
"""2^64 over the golden ratio: spreads numbers that lie close together (Fibonacci hashing)."""


class CellLookup:
    """The place of each number in `numbers`."""

    def __init__(self, numbers: NDArray[np.uint64]) -> None:
        """
        Args:
            numbers: all different; the one at index c has cell c.
        """
        bits = max(1, int(SLOTS_PER_ENTRY * max(1, numbers.size) - 1).bit_length())
        self._shift = np.uint64(64 - bits)
        self._mask = np.int64(2**bits - 1)
        self._numbers = numbers
        self._slots = np.full(2**bits, -1, dtype=np.int32)
        cells = np.arange(numbers.size, dtype=np.int32)
        slots = self._first_slots(numbers)
        while cells.size:
            free = self._slots[slots] < 0
            self._slots[slots[free]] = cells[free]  # if several want one, one of them gets it
            placed = self._slots[slots] == cells
            cells, slots = cells[~placed], (slots[~placed] + 1) & self._mask

    def cells_of(self, numbers: NDArray[np.uint64]) -> NDArray[np.int64]:
        """The cell of each number in order; -1 for those that have none."""
        slots = self._first_slots(numbers)
        cells = self._slots[slots].astype(np.int64)
        if not self._numbers.size:
            return cells
        wrong = np.flatnonzero((cells >= 0) & (self._numbers[cells] != numbers))
        while wrong.size:
            slots[wrong] = (slots[wrong] + 1) & self._mask
            cells[wrong] = self._slots[slots[wrong]]
            wrong = wrong[(cells[wrong] >= 0) & (self._numbers[cells[wrong]] != numbers[wrong])]
        return cells

    def _first_slots(self, numbers: NDArray[np.uint64]) -> NDArray[np.int64]:
        return ((numbers * MULTIPLIER) >> self._shift).astype(np.int64)

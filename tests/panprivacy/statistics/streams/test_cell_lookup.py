"""The hash table finds what is in it, and nothing else."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from panprivacy.statistics.streams.cell_lookup import CellLookup

NUMBERS = st.lists(st.integers(0, 2**64 - 1), unique=True, max_size=60)


@given(NUMBERS, st.lists(st.integers(0, 2**64 - 1)))
def test_cells_of_numbers_are_their_places_and_of_others_none(numbers, others):
    lookup = CellLookup(np.array(numbers, dtype=np.uint64))
    asked = numbers[::-1] + others + numbers
    expected = [numbers.index(number) if number in numbers else -1 for number in asked]
    assert lookup.cells_of(np.array(asked, dtype=np.uint64)).tolist() == expected


@pytest.mark.parametrize("step", [1, 2**20, 2**44, 2**45 + 1])
def test_cells_of_numbers_in_a_regular_order_are_found(step):
    numbers = np.arange(2**16, dtype=np.uint64) * np.uint64(step)
    lookup = CellLookup(numbers)
    assert np.array_equal(lookup.cells_of(numbers), np.arange(2**16))
    assert (lookup.cells_of(numbers + np.uint64(2**63 + 1)) == -1).all()

"""Cells of any items: items are hashed to places, and some places have a cell."""

import random
from collections.abc import Sequence
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from panprivacy.statistics.streams.cell_lookup import CellLookup
from panprivacy.statistics.streams.item_bytes import ItemBytes
from panprivacy.statistics.streams.parameters import HASHED, StreamParameters
from panprivacy.statistics.streams.sample import (
    Numbers,
    Sample,
    packed_numbers,
    some_places,
    unpacked_numbers,
)
from panprivacy.statistics.streams.siphash import KEY_BYTES, siphash_items


class HashedSample(Sample):
    """Some of the places to which any item is hashed, or all: then a place is its own cell.

    Attributes:
        places: those that have a cell; the one at place c has cell c. Empty if all have.
    """

    kind = HASHED

    def __init__(self, key: bytes, universe_size: int, places: Numbers) -> None:
        super().__init__(key, universe_size)
        self.places = places

    @cached_property
    def _lookup(self) -> CellLookup:
        return CellLookup(self.places)

    @classmethod
    def _draw(
        cls,
        parameters: StreamParameters,
        universe: Sequence[str] | None,  # noqa: ARG003  # there is none
        random_source: random.Random,
    ) -> Self:
        places = some_places(parameters.table_size, parameters.universe_size, random_source)
        return cls(random_source.randbytes(KEY_BYTES), parameters.universe_size, places)

    @classmethod
    def _read(cls, key: bytes, content: dict[str, Any]) -> Self:
        return cls(key, content["universe_size"], unpacked_numbers(content["places"]))

    def _members(self) -> dict[str, Any]:
        return {"places": packed_numbers(self.places)}

    def _cells(self, items: ItemBytes) -> NDArray[np.int64]:
        hashes = siphash_items(self.key, items)
        # ⌊hash·size/2^64⌋ by halves, because the product has more than 64 bits; the size has at most 32.
        size, half = np.uint64(self.universe_size), np.uint64(32)
        low = (hashes & np.uint64(2**32 - 1)) * size >> half
        places = ((hashes >> half) * size + low) >> half
        return self._lookup.cells_of(places) if self.places.size else places.astype(np.int64)

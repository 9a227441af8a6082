"""Cells of items that are known one by one: of a list, or the whole numbers below a bound."""

import random
from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from panprivacy.formats.errors import FieldError
from panprivacy.formats.parameters import as_typed
from panprivacy.statistics.streams import draws
from panprivacy.statistics.streams.cell_lookup import CellLookup
from panprivacy.statistics.streams.decimal_items import decimal_numbers
from panprivacy.statistics.streams.item_bytes import ItemBytes, ItemError, encode_items
from panprivacy.statistics.streams.parameters import LISTED, NUMBERED, StreamParameters
from panprivacy.statistics.streams.sample import Numbers, Sample, packed_numbers, unpacked_numbers
from panprivacy.statistics.streams.siphash import KEY_BYTES, siphash_items


class ListedSample(Sample):
    """Some items of a known list, or all in its order.

    Attributes:
        hashes: of the items that have a cell; the one at place c has cell c.
    """

    kind = LISTED

    def __init__(self, key: bytes, universe_size: int, hashes: Numbers) -> None:
        super().__init__(key, universe_size)
        self.hashes = hashes

    @cached_property
    def _lookup(self) -> CellLookup:
        return CellLookup(self.hashes)

    @classmethod
    def _draw(
        cls, parameters: StreamParameters, universe: Sequence[str] | None, random_source: random.Random
    ) -> Self:
        if universe is None:
            raise FieldError("universe", "is missing; listed items need the list")
        if len(universe) != parameters.universe_size:
            raise FieldError(
                "universe", f"must list {parameters.universe_size:,} items, not {len(universe):,}"
            )
        if len(set(universe)) != len(universe):
            repeated, _ = Counter(universe).most_common(1)[0]
            raise FieldError("universe", f"must not list an item twice: {as_typed(repeated)}")
        try:
            encode_items(universe)
        except ItemError as error:
            raise FieldError("universe", str(error)) from None
        chosen = draws.distinct_below(parameters.table_size, len(universe), random_source)
        key, hashes = _hashed_apart(encode_items([universe[place] for place in chosen]), random_source)
        return cls(key, parameters.universe_size, hashes)

    @classmethod
    def _read(cls, key: bytes, content: dict[str, Any]) -> Self:
        return cls(key, content["universe_size"], unpacked_numbers(content["hashes"]))

    def _members(self) -> dict[str, Any]:
        return {"hashes": packed_numbers(self.hashes)}

    def _cells(self, items: ItemBytes) -> NDArray[np.int64]:
        return self._lookup.cells_of(siphash_items(self.key, items))


class NumberedSample(ListedSample):
    """Some of the whole numbers below the universe's size, or all: then a number is its own cell.

    Items are written in decimal digits, without leading zeros or signs.
    """

    kind = NUMBERED

    @classmethod
    def _draw(
        cls,
        parameters: StreamParameters,
        universe: Sequence[str] | None,  # noqa: ARG003  # it is known
        random_source: random.Random,
    ) -> Self:
        if parameters.table_size == parameters.universe_size:
            return cls(
                random_source.randbytes(KEY_BYTES), parameters.universe_size, np.empty(0, dtype=np.uint64)
            )
        chosen = draws.distinct_below(parameters.table_size, parameters.universe_size, random_source)
        key, hashes = _hashed_apart(encode_items([str(number) for number in chosen]), random_source)
        return cls(key, parameters.universe_size, hashes)

    def _cells(self, items: ItemBytes) -> NDArray[np.int64]:
        numbers = decimal_numbers(items, self.universe_size)
        return super()._cells(items) if self.hashes.size else numbers


def _hashed_apart(items: ItemBytes, random_source: random.Random) -> tuple[bytes, Numbers]:
    """A random key under which all these items have different hashes, and the hashes."""
    while True:
        key = random_source.randbytes(KEY_BYTES)
        hashes = siphash_items(key, items)
        if np.unique(hashes).size == hashes.size:
            return key, hashes

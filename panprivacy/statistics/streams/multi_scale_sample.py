"""Sets of places of many sizes; all items are hashed to each of them (PPS section 3)."""

import random
from collections.abc import Sequence
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from panprivacy.statistics.streams import four_wise
from panprivacy.statistics.streams.cell_lookup import CellLookup
from panprivacy.statistics.streams.item_bytes import ItemBytes
from panprivacy.statistics.streams.parameters import MULTI_SCALE, StreamParameters
from panprivacy.statistics.streams.sample import (
    Numbers,
    Sample,
    packed_numbers,
    some_places,
    unpacked_numbers,
)
from panprivacy.statistics.streams.siphash import KEY_BYTES, siphash_items


def set_bits(parameters: StreamParameters) -> range:
    """log₂ of the sets' sizes: from one that fills a table to one that is as large as the universe."""
    smallest = max(1, (parameters.table_size - 1).bit_length())  # in one place, nothing could be counted
    return range(smallest, (parameters.universe_size - 1).bit_length() + 1)


class MultiScaleSample(Sample):
    """Some of the places of each set, or all: then a place is its own cell of the set's table.

    The hash of an item, of 61 bits, is hashed again for each set, by 4-wise independent functions.

    Attributes:
        table_size: number of places of each set that have a cell. Those of the i-th set have the cells
            i·table_size, …, (i + 1)·table_size − 1.
        polynomials: one row of coefficients for each set (`four_wise`).
        places: for each set the places that have a cell; empty if all have.
    """

    kind = MULTI_SCALE

    def __init__(
        self,
        key: bytes,
        universe_size: int,
        table_size: int,
        bits: Sequence[int],
        polynomials: Sequence[Numbers],
        places: Sequence[Numbers],
    ) -> None:
        super().__init__(key, universe_size)
        self.table_size = table_size
        self.bits = tuple(bits)
        self.polynomials = tuple(polynomials)
        self.places = tuple(places)

    @cached_property
    def _lookups(self) -> tuple[CellLookup, ...]:
        return tuple(CellLookup(places) for places in self.places)

    @classmethod
    def _draw(
        cls,
        parameters: StreamParameters,
        universe: Sequence[str] | None,  # noqa: ARG003  # there is none
        random_source: random.Random,
    ) -> Self:
        bits = set_bits(parameters)
        return cls(
            random_source.randbytes(KEY_BYTES),
            parameters.universe_size,
            parameters.table_size,
            bits,
            [four_wise.draw_polynomial(random_source) for _ in bits],
            [some_places(parameters.table_size, 2**set_, random_source) for set_ in bits],
        )

    @classmethod
    def _read(cls, key: bytes, content: dict[str, Any]) -> Self:
        return cls(
            key,
            content["universe_size"],
            content["table_size"],
            content["bits"],
            [unpacked_numbers(polynomial) for polynomial in content["polynomials"]],
            [unpacked_numbers(places) for places in content["places"]],
        )

    def _members(self) -> dict[str, Any]:
        return {
            "table_size": self.table_size,
            "bits": self.bits,
            "polynomials": [packed_numbers(polynomial) for polynomial in self.polynomials],
            "places": [packed_numbers(places) for places in self.places],
        }

    def _cells(self, items: ItemBytes) -> NDArray[np.int64]:
        """One row for each item, one column for each set; so an item's cells stand together."""
        fingerprints = siphash_items(self.key, items) >> np.uint64(64 - four_wise.PRIME_BITS)
        fingerprints %= np.uint64(four_wise.PRIME)
        cells = np.empty((fingerprints.size, len(self.bits)), dtype=np.int64)
        for number, (bits, polynomial, lookup) in enumerate(
            zip(self.bits, self.polynomials, self._lookups, strict=True)
        ):
            hashes = four_wise.evaluate(polynomial, fingerprints)
            places = hashes >> np.uint64(four_wise.PRIME_BITS - bits)
            found = lookup.cells_of(places) if self.places[number].size else places.astype(np.int64)
            cells[:, number] = np.where(found >= 0, found + number * self.table_size, -1)
        return cells

"""Density with an error in proportion to it (PPS section 3, "Obtaining a multiplicative error").

All items are hashed to ℓ sets of places of many sizes. The density estimator of Figure 1 runs for each set,
and the largest set that is dense enough is read.
"""

import math
import random
from collections.abc import Sequence
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from panprivacy.statistics.intervals.estimate import LEVELS, Estimate, Interval
from panprivacy.statistics.streams import four_wise
from panprivacy.statistics.streams.density import BitTable, DensityReading, hashing_errors
from panprivacy.statistics.streams.hashed_places import HashedPlaces
from panprivacy.statistics.streams.interface import CONFIDENCE
from panprivacy.statistics.streams.item_bytes import ItemBytes
from panprivacy.statistics.streams.parameters import MULTI_SCALE, StreamParameters
from panprivacy.statistics.streams.sample import (
    CellLookup,
    Numbers,
    UnlistedSample,
    packed_numbers,
    some_places,
    unpacked_numbers,
)
from panprivacy.statistics.streams.siphash import KEY_BYTES, siphash_items

DENSEST = 0.5
"""No set need be denser than that to be chosen."""


def set_bits(parameters: StreamParameters) -> range:
    """log₂ of the sets' sizes: from one that fills a table to one that is as large as the universe."""
    smallest = max(1, (parameters.table_size - 1).bit_length())  # in one place, nothing could be counted
    return range(smallest, (parameters.universe_size - 1).bit_length() + 1)


class MultiScaleSample(UnlistedSample):
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
    def _draw(cls, parameters: StreamParameters, random_source: random.Random) -> Self:
        # Section 3: sets X_i of 2^i places, and for each a 4-wise independent hash into it.
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

    def _fields(self) -> dict[str, Any]:
        return {
            "table_size": self.table_size,
            "bits": self.bits,
            "polynomials": [packed_numbers(polynomial) for polynomial in self.polynomials],
            "places": [packed_numbers(places) for places in self.places],
        }

    def _cells(self, items: ItemBytes) -> NDArray[np.int64]:
        """One row for each item, one column for each set; so an item's cells stand together."""
        # Section 3: hash each item into every set X_i.
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


class MultiScaleReading(DensityReading):
    """Items are hashed to sets of places of many sizes; the largest set that is dense enough is read.

    In a large set hardly any place is touched, and the table's error outweighs it; in a small one items
    fall together. Let the share of touched places be at least the square root of the table's error. The
    largest such set is a fair choice: both errors are then about the same part of the result.

    An item has a bit in every one of the ℓ tables, so each table, its bits and its noise alike, gets ε/ℓ. The
    paper divides ε for the noise of the results only, and leaves every table its bits with ε: then each
    intrusion costs ℓ·ε.

    The error bound holds for all sets at once, and so do the intervals that all of them agree on. The latter
    hold however many items come; the former as in `HashedItems`.
    """

    def __init__(self, table: BitTable[Any]) -> None:
        super().__init__(table)
        self.sets = [HashedPlaces(2**bits) for bits in set_bits(table.parameters)]

    @property
    def tables(self) -> int:
        return len(self.sets)

    def read(self, shares: Sequence[float], announced_intrusions: int, confidence: float) -> Estimate:
        # Section 3: of the outputs of Figure 1, select that of the right set; its density gives the number of
        # items.
        chosen = self._chosen(shares, announced_intrusions)
        items = self.sets[chosen].items(shares[chosen])
        density = items / self.universe_size
        error_bound = self._error_bound(items, *self._agreed(shares, announced_intrusions, confidence))
        intervals = []
        for level in LEVELS:
            lower, upper = self._agreed(shares, announced_intrusions, level)
            high = None if math.isinf(upper) else upper / self.universe_size
            intervals.append(Interval(level, (lower / self.universe_size,), (high,)))
        return Estimate(
            values=(density,),
            standard_errors=(),
            standard_error_note="None is stated: which set of places is read depends on the result.",
            projection=(min(max(density, 0.0), 1.0),),
            error_bounds=() if error_bound is None else (error_bound,),
            confidence=None if error_bound is None else confidence,
            intervals=tuple(intervals),
            details={"set_size": self.sets[chosen].places, "set_density": shares[chosen]},
        )

    def _chosen(self, shares: Sequence[float], announced_intrusions: int) -> int:
        """Index of the set to read: the largest one that is dense enough, otherwise the smallest."""
        dense = min(DENSEST, math.sqrt(self.share_bound(announced_intrusions, CONFIDENCE)))
        return max((index for index, share in enumerate(shares) if share >= dense), default=0)

    def share_bound(self, announced_intrusions: int, confidence: float) -> float:
        """How far any of the shares lies from what is to be expected, all together with this confidence."""
        failure_probability = (1 - confidence) / len(self.sets)
        return self.table.share_bound(
            hashing_errors(self.table_size), announced_intrusions, failure_probability
        )

    def _agreed(
        self, shares: Sequence[float], announced_intrusions: int, confidence: float
    ) -> tuple[float, float]:
        """The lowest and the highest number of items that agree with every set; the latter is infinite if
        every set may be nearly full."""
        bound = self.share_bound(announced_intrusions, confidence)
        lower, upper = 0.0, math.inf
        for places, share in zip(self.sets, shares, strict=True):
            lower = max(lower, places.items(share - bound))
            if share + bound < places.full:
                upper = min(upper, max(places.items(share + bound), 0.0))
        return lower, max(lower, upper)

    def _error_bound(self, items: float, lower: float, upper: float) -> float | None:
        """Of the density, if no more items come than the universe has; None if more must have come."""
        most = float(self.universe_size)
        if lower > most:
            return None
        return max(abs(min(upper, most) - items), abs(items - lower)) / self.universe_size

    expected_note = "at most: less if few items come"

    def expected_error_bound(self, confidence: float, announced_intrusions: int) -> float:
        """The largest over numbers of items that halve from that of the universe, and none; at most 1, the
        error of the projection."""
        numbers = [self.universe_size / 2**halvings for halvings in range(len(self.sets) + 1)]
        bounds = (self._expected_bound(items, announced_intrusions, confidence) for items in (*numbers, 0.0))
        return min(1.0, max(bounds))

    def _expected_bound(self, items: float, announced_intrusions: int, confidence: float) -> float:
        """The error bound for this number of items if every table shows as many as possible."""
        bound = self.share_bound(announced_intrusions, confidence)
        shares = [places.touched(items) + bound for places in self.sets]
        chosen = self._chosen(shares, announced_intrusions)
        agreed = self._agreed(shares, announced_intrusions, confidence)
        found = self._error_bound(self.sets[chosen].items(shares[chosen]), *agreed)
        return 1.0 if found is None else found

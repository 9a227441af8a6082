"""Density with an error in proportion to it (PPS section 3, "Obtaining a multiplicative error")."""

import math
from collections.abc import Sequence
from typing import Any

from panprivacy.intervals.estimate import LEVELS, Estimate, Interval
from panprivacy.statistics.streams.bit_table import BitTable
from panprivacy.statistics.streams.density_readings import DensityReading, hashing_errors
from panprivacy.statistics.streams.hashed_places import HashedPlaces
from panprivacy.statistics.streams.interface import CONFIDENCE
from panprivacy.statistics.streams.multi_scale_sample import set_bits
from panprivacy.statistics.streams.parameters import StreamParameters

DENSEST = 0.5
"""No set need be denser than that to be chosen."""


class ManySizes(DensityReading):
    """Items are hashed to sets of places of many sizes; the largest set that is dense enough is read.

    In a large set hardly any place is touched, and the table's error outweighs it; in a small one items
    fall together. The largest set whose share of touched places is at least the square root of the table's
    error is a fair choice: both errors are then about the same part of the result.

    An item has a bit in every one of the ℓ tables, so each table, its bits and its noise alike, gets ε/ℓ. The
    paper divides ε for the noise of the results only, and leaves every table its bits with ε: then each
    intrusion costs ℓ·ε.

    The error bound holds for all sets at once, and so do the intervals that all of them agree on. The latter
    hold however many items come; the former as in `HashedItems`.
    """

    def __init__(self, table: BitTable[Any]) -> None:
        super().__init__(table)
        self.sets = [HashedPlaces(2**bits) for bits in set_bits(table.parameters)]

    @classmethod
    def tables(cls, parameters: StreamParameters) -> int:
        return len(set_bits(parameters))

    def read(self, shares: Sequence[float], announced_intrusions: int, confidence: float) -> Estimate:
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
        """Index of the set to read: the largest one that is dense enough, else the smallest."""
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

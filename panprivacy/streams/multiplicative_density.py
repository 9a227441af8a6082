"""Density with an error in proportion to it (PPS section 3, "Obtaining a multiplicative error")."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from panprivacy.estimate import Estimate
from panprivacy.streams.density_readings import DensityReading
from panprivacy.streams.deviation import table_sampling
from panprivacy.streams.interface import CONFIDENCE
from panprivacy.streams.many_sizes import set_bits
from panprivacy.streams.parameters import StreamParameters

DENSEST = 0.5
"""No set need be denser than that to be chosen."""


@dataclass(frozen=True)
class _Interval:
    """Where the number of items lies."""

    lower: float
    upper: float


class ManySizes(DensityReading):
    """Items are hashed to sets of places of many sizes; the largest set that is dense enough is read.

    In a large set hardly any place is touched, and the table's error outweighs it; in a small one items
    fall together. The largest set whose share of touched places is at least the square root of the table's
    error is a fair choice: both errors are then about the same part of the result.

    An item has a bit in every one of the ℓ tables, so each table, its bits and its noise alike, gets ε/ℓ. The
    paper divides ε for the noise of the results only, and leaves every table its bits with ε: then a look
    at the state costs ℓ·ε.

    The error bound holds for all sets together. With D items and n places, the pairs of items that share a
    place are C ≤ D²/(2n) + D/√(2nβ) with probability 1 − β (Chebyshev, as the hash is 4-wise
    independent), and of touched places there are N with D − C ≤ N ≤ D, and N ≥ D²/(D + 2C) (Cauchy & Schwarz).
    """

    @classmethod
    def tables(cls, parameters: StreamParameters) -> int:
        return len(set_bits(parameters))

    @property
    def _sizes(self) -> list[int]:
        return [2**bits for bits in set_bits(self.table.parameters)]

    def read(self, shares: Sequence[float], announced_intrusions: int, confidence: float) -> Estimate:
        chosen = self._chosen(shares, announced_intrusions)
        size = self._sizes[chosen]
        share = shares[chosen]
        items = -size * math.log1p(-min(share, self._full(size)))
        interval = self._interval(shares, announced_intrusions, confidence)
        density = items / self.universe_size
        return Estimate(
            values=(density,),
            standard_errors=(),
            standard_error_note="None is stated: which set of places is read depends on the result.",
            projection=(min(max(density, 0.0), 1.0),),
            error_bounds=(max(interval.upper - items, items - interval.lower) / self.universe_size,),
            confidence=confidence,
            details={"set_size": size, "set_density": share},
        )

    def _chosen(self, shares: Sequence[float], announced_intrusions: int) -> int:
        """Index of the set to read: the largest one that is dense enough, else the smallest."""
        for index in reversed(range(len(shares))):
            error = self._share_bound(self._sizes[index], announced_intrusions, CONFIDENCE)
            if shares[index] >= min(DENSEST, math.sqrt(error)):
                return index
        return 0

    def _failure_probability(self, confidence: float) -> float:
        """Of each table's bits, and again of each hash function."""
        return (1 - confidence) / (2 * len(self._sizes))

    def _share_bound(self, size: int, announced_intrusions: int, confidence: float) -> float:
        sampling = table_sampling(self.table_size, size)
        return self.table.share_bound(sampling, announced_intrusions, self._failure_probability(confidence))

    @staticmethod
    def _full(size: int) -> float:
        """A share of touched places that is as good as all (`HashedItems`)."""
        return 1 - 1 / (2 * size)

    def _interval(self, shares: Sequence[float], announced_intrusions: int, confidence: float) -> _Interval:
        """Where the number of items lies by every set; at most about n·ln(2n) for the largest, n."""
        lower, upper = 0.0, self._sizes[-1] * math.log(2 * self._sizes[-1])
        for size, share in zip(self._sizes, shares, strict=True):
            bound = self._share_bound(size, announced_intrusions, confidence)
            lower = max(lower, size * (share - bound))
            upper = min(upper, size * self._largest_load(size, share + bound, confidence))
        return _Interval(lower, upper)

    def _largest_load(self, size: int, share: float, confidence: float) -> float:
        """The largest number of items per place with which no more than `share` of the places are touched."""
        if share >= 1:
            return math.inf
        touched = max(share, 0.0)
        excess = math.sqrt(2 / (size * self._failure_probability(confidence)))
        load = touched * (1 + excess) / (1 - touched)  # from touched ≥ load/(1 + load + excess)
        # From touched ≥ load − load²/2 − load·excess/2, if the load is known to be where that grows.
        turning = 1 - excess / 2
        if load <= turning and turning**2 >= 2 * touched:
            load = min(load, turning - math.sqrt(turning**2 - 2 * touched))
        return load

    def largest_error_bound(self, confidence: float, announced_intrusions: int) -> float:
        return max(
            self._expected_bound(self.universe_size * 2.0**-halvings, announced_intrusions, confidence)
            for halvings in range(len(self._sizes) + 1)
        )

    def _expected_bound(self, items: float, announced_intrusions: int, confidence: float) -> float:
        """The error bound if so many items come and every table shows as many as it may."""
        shares = [
            -math.expm1(-items / size) + self._share_bound(size, announced_intrusions, confidence)
            for size in self._sizes
        ]
        return self.read(shares, announced_intrusions, confidence).error_bounds[0]

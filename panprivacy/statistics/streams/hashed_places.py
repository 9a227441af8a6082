"""How many of a number of places are touched by items that are hashed to them."""

import math
from dataclasses import dataclass

LARGEST_STANDARD_ERROR = 0.25
"""The largest stated standard error of a number of items, as a part of all places. Up to there, intervals by
the delta method miss with 5% at most, if the share is normally distributed; beyond, they treat a curve as a
line.

It is to be compared with the error for the largest possible number of items, never with the actual one. If
standard errors were stated only for low shares, intervals would miss in many of these cases.
"""


@dataclass(frozen=True)
class HashedPlaces:
    """Places to which items are hashed, each item to any of them with the same probability.

    The hash is treated as a random function for parties without its key. The indicators of touched places are
    then negatively associated (Dubhashi & Ranjan 1998). So Hoeffding's bound holds for the share of touched
    ones among any of them as if they were independent.

    Attributes:
        places: how many, at least 2.
    """

    places: int

    @property
    def full(self) -> float:
        """The share of touched places that counts as all: half a place is untouched."""
        return 1 - 1 / (2 * self.places)

    def touched(self, items: float) -> float:
        """The expected share of touched places with this number of different items: 1 − (1 −
        1/places)^items."""
        return -math.expm1(items * math.log1p(-1 / self.places))

    def items(self, share: float) -> float:
        """The inverse; at `full`, about places·ln(2·places), for larger shares."""
        return math.log1p(-min(share, self.full)) / math.log1p(-1 / self.places)

    def slope(self, share: float) -> float:
        """How much faster `items` grows than `share`, which is at most `full`."""
        return -1 / ((1 - share) * math.log1p(-1 / self.places))

    def variance(self, share: float, table_size: int) -> float:
        """Of the share of touched ones among `table_size` places, if `share` of all is to be expected."""
        untouched = 1 - share
        two_untouched = max(0.0, 1 - 2 / self.places) ** self.items(share)
        covariance = two_untouched - untouched**2  # negative: an item here is an item less elsewhere
        return max(0.0, float(untouched * share + (table_size - 1) * covariance) / table_size)

"""How the share of touched bits of a table becomes the density, by how items have their places."""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from panprivacy.estimate import Estimate
from panprivacy.streams.bit_table import BitTable
from panprivacy.streams.deviation import BoundedErrors, table_sampling
from panprivacy.streams.parameters import StreamParameters


class DensityReading(ABC):
    """Reads the density from the shares of a table, or of several."""

    def __init__(self, table: BitTable[Any]) -> None:
        self.table = table
        self.universe_size: int = table.parameters.universe_size
        self.table_size: int = table.parameters.table_size

    @classmethod
    def tables(cls, parameters: StreamParameters) -> int:  # noqa: ARG003  # most have one, whatever they are
        """How many tables are kept."""
        return 1

    @abstractmethod
    def read(self, shares: Sequence[float], announced_intrusions: int, confidence: float) -> Estimate:
        """The density.

        Args:
            shares: of touched bits, one for each table (`BitTable.noisy_shares`).
        """

    @abstractmethod
    def largest_error_bound(self, confidence: float, announced_intrusions: int) -> float:
        """The largest to expect if no more items come than the universe has."""


class KnownItems(DensityReading):
    """Items that are listed or numbered: each has a bit of its own, and the share is the density."""

    def read(self, shares: Sequence[float], announced_intrusions: int, confidence: float) -> Estimate:
        (share,) = shares
        within = min(max(share, 0.0), 1.0)
        left_out = (self.universe_size - self.table_size) / max(1, self.universe_size - 1)
        variance = self.table.share_variance(within, announced_intrusions)
        variance += left_out * within * (1 - within) / self.table_size
        return Estimate(
            values=(share,),
            standard_errors=(math.sqrt(variance),),
            standard_error_note=(
                "Includes the randomized bits, the noise of the result, and the random choice of the table's "
                "items."
            ),
            projection=(within,),
            error_bounds=(self._bound(announced_intrusions, confidence),),
            confidence=confidence,
        )

    def _bound(self, announced_intrusions: int, confidence: float) -> float:
        sampling = table_sampling(self.table_size, self.universe_size)
        return self.table.share_bound(sampling, announced_intrusions, 1 - confidence)

    def largest_error_bound(self, confidence: float, announced_intrusions: int) -> float:
        return self._bound(announced_intrusions, confidence)


class HashedItems(DensityReading):
    """Items that are hashed to U places: some share one, so that fewer places than items are touched.

    D items touch a share 1 − (1 − 1/U)^D of the places in expectation, from which D is found. The
    places' indicators are negatively associated (Dubhashi & Ranjan 1998), so Hoeffding's bound holds for them
    as for independent ones. The hash counts as a random function to whoever does not know its key.

    Where nearly every place is touched, D cannot be told any more: it is then taken to be at most about
    U·ln(2U), and the estimate's details say `saturated`.
    """

    @property
    def _full(self) -> float:
        """A share of touched places that is as good as all."""
        return 1 - 1 / (2 * self.universe_size)

    def _touched(self, items: float) -> float:
        """The expected share of touched places."""
        return -math.expm1(items * math.log1p(-1 / self.universe_size))

    def _density(self, share: float) -> float:
        """The inverse, over U."""
        touched = min(share, self._full)
        return math.log1p(-touched) / (self.universe_size * math.log1p(-1 / self.universe_size))

    def read(self, shares: Sequence[float], announced_intrusions: int, confidence: float) -> Estimate:
        (share,) = shares
        bound = self._bound(announced_intrusions, confidence)
        density, lower, upper = (self._density(s) for s in (share, share - bound, share + bound))
        within = min(max(share, 0.0), self._full)
        variance = self.table.share_variance(within, announced_intrusions) + self._hashing_variance(within)
        slope = 1 / ((1 - within) * -self.universe_size * math.log1p(-1 / self.universe_size))
        return Estimate(
            values=(density,),
            standard_errors=(slope * math.sqrt(variance),),
            standard_error_note=(
                "Includes the randomized bits, the noise of the result, and the random places of the items; "
                "by the delta method."
            ),
            projection=(min(max(density, 0.0), 1.0),),
            error_bounds=(max(upper - density, density - lower),),
            confidence=confidence,
            details={"saturated": share + bound >= self._full},
        )

    def _hashing_variance(self, share: float) -> float:
        """Of the share of touched places among those with a cell, as items fall where they like."""
        items = self.universe_size * self._density(share)
        empty = 1 - share
        two_empty = math.exp(items * math.log1p(-2 / self.universe_size)) if self.universe_size > 2 else 0.0
        covariance = two_empty - empty**2  # negative: what one place takes, another does not get
        return max(0.0, (empty * (1 - empty) + (self.table_size - 1) * covariance) / self.table_size)

    def _bound(self, announced_intrusions: int, confidence: float) -> float:
        hashing = BoundedErrors(1 / self.table_size)
        return self.table.share_bound(hashing, announced_intrusions, 1 - confidence)

    def largest_error_bound(self, confidence: float, announced_intrusions: int) -> float:
        bound = self._bound(announced_intrusions, confidence)
        highest = min(self._touched(self.universe_size) + 2 * bound, self._full)
        return self._density(highest) - self._density(highest - bound)

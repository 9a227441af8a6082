"""How the share of touched bits of a table becomes the density, by how items have their places."""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

from panprivacy.estimate import Estimate
from panprivacy.streams.bit_table import BitTable
from panprivacy.streams.deviation import BoundedErrors, table_sampling
from panprivacy.streams.hashed_places import HashedPlaces
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

    expected_note: ClassVar[str] = ""
    """Under which condition `expected_error_bound` is to be expected, as a clause."""

    @abstractmethod
    def expected_error_bound(self, confidence: float, announced_intrusions: int) -> float:
        """The largest to expect, under the condition of `expected_note`."""


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

    def expected_error_bound(self, confidence: float, announced_intrusions: int) -> float:
        return self._bound(announced_intrusions, confidence)


class HashedItems(DensityReading):
    """Items that are hashed to as many places as the universe has: some share one.

    Where nearly every place is touched, their number cannot be told any more: it is then taken to be at most
    that of `HashedPlaces.full`, and the estimate's details say `saturated`.
    """

    def __init__(self, table: BitTable[Any]) -> None:
        super().__init__(table)
        self._places = HashedPlaces(self.universe_size)

    def read(self, shares: Sequence[float], announced_intrusions: int, confidence: float) -> Estimate:
        (share,) = shares
        places = self._places
        bound = self._bound(announced_intrusions, confidence)
        density, lower, upper = (
            places.items(at) / self.universe_size for at in (share, share - bound, share + bound)
        )
        # So far below, intervals miss with 5 % at most: nearer, the delta method takes a curve for a line.
        tellable = share + 2 * bound < places.full
        return Estimate(
            values=(density,),
            standard_errors=(self._standard_error(share, announced_intrusions),) if tellable else (),
            standard_error_note=(
                "Includes the randomized bits, the noise of the result, and the random places of the items; "
                "by the delta method."
                if tellable
                else "There is none: nearly every place may be touched, and then many more items fit in."
            ),
            projection=(min(max(density, 0.0), 1.0),),
            error_bounds=(max(upper - density, density - lower),),
            confidence=confidence,
            details={"saturated": share + bound >= places.full},
        )

    def _standard_error(self, share: float, announced_intrusions: int) -> float:
        """Of the density, by the delta method, if `share` of the places are touched."""
        touched = max(share, 0.0)
        variance = self.table.share_variance(touched, announced_intrusions)
        variance += self._places.variance(touched, self.table_size)
        return self._places.slope(touched) / self.universe_size * math.sqrt(variance)

    def _bound(self, announced_intrusions: int, confidence: float) -> float:
        return self.table.share_bound(hashing_errors(self.table_size), announced_intrusions, 1 - confidence)

    expected_note = "if at most half of all items come"

    def expected_error_bound(self, confidence: float, announced_intrusions: int) -> float:
        bound = self._bound(announced_intrusions, confidence)
        highest = min(self._places.touched(self.universe_size / 2) + 2 * bound, self._places.full)
        return (self._places.items(highest) - self._places.items(highest - bound)) / self.universe_size


def hashing_errors(table_size: int) -> BoundedErrors:
    """The share of touched places among `table_size`, less what is to be expected (`HashedPlaces`)."""
    return BoundedErrors(1 / table_size)

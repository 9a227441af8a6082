"""The density from the share of touched bits of a table, by the type of sample."""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

from panprivacy.intervals.estimate import LEVELS, Estimate, Interval
from panprivacy.statistics.streams.bit_table import BitTable
from panprivacy.statistics.streams.deviation import BoundedErrors, table_sampling
from panprivacy.statistics.streams.hashed_places import LARGEST_STANDARD_ERROR, HashedPlaces
from panprivacy.statistics.streams.parameters import StreamParameters

_MORE_CAME = "None is stated: the table shows that more different items came than the universe has."


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
    """The condition of `expected_error_bound`, as a clause."""

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
            intervals=self.table.share_intervals(
                share, announced_intrusions, self.table_size * left_out, self.universe_size, 1.0
            ),
        )

    def _bound(self, announced_intrusions: int, confidence: float) -> float:
        sampling = table_sampling(self.table_size, self.universe_size)
        return self.table.share_bound(sampling, announced_intrusions, 1 - confidence)

    def expected_error_bound(self, confidence: float, announced_intrusions: int) -> float:
        return self._bound(announced_intrusions, confidence)


class HashedItems(DensityReading):
    """Items that are hashed to as many places as the universe has items, so that some share a place.

    If nearly every place is touched, the number of items cannot be estimated. Then the intervals have no
    upper end, and the estimate's details say `saturated`.

    The intervals hold for any number of items. The error bound and the standard error assume no more items
    than the universe has. Neither is stated if the table shows that there are more, with the confidence of
    the bound. Else a standard error is stated if and only if it would be small enough
    (`LARGEST_STANDARD_ERROR`) even if every item came, so that this does not depend on the stream.
    """

    def __init__(self, table: BitTable[Any]) -> None:
        super().__init__(table)
        self._places = HashedPlaces(self.universe_size)

    def read(self, shares: Sequence[float], announced_intrusions: int, confidence: float) -> Estimate:
        (share,) = shares
        places = self._places
        bound = self._bound(announced_intrusions, confidence)
        density = places.items(share) / self.universe_size
        saturated = share + bound >= places.full
        # Not by the share that came: it would be low wherever there is a standard error.
        largest = self._standard_error(places.touched(self.universe_size), announced_intrusions)
        error_bound = self._error_bound(share, bound)
        tellable = largest <= LARGEST_STANDARD_ERROR and error_bound is not None
        return Estimate(
            values=(density,),
            standard_errors=(self._standard_error(share, announced_intrusions),) if tellable else (),
            standard_error_note=(
                "Includes the randomized bits, the noise of the result, and the random places of the items; "
                "by the delta method."
                if tellable
                else _MORE_CAME
                if error_bound is None
                else "None is stated: the table is too small to tell how many items came, if nearly all did."
            ),
            projection=(min(max(density, 0.0), 1.0),),
            error_bounds=() if error_bound is None else (error_bound,),
            confidence=None if error_bound is None else confidence,
            intervals=tuple(self._interval(share, announced_intrusions, level) for level in LEVELS),
            details={"saturated": saturated},
        )

    def _interval(self, share: float, announced_intrusions: int, level: float) -> Interval:
        """The interval of the density, for any number of items."""
        bound = self._bound(announced_intrusions, level)
        ends = (share - bound, share + bound)
        low, high = (max(0.0, self._places.items(end)) / self.universe_size for end in ends)
        return Interval(level, (low,), (None if share + bound >= self._places.full else high,))

    def _error_bound(self, share: float, bound: float) -> float | None:
        """Of the density, if the share may be off by `bound` and no more items come than the universe has;
        None if the two cannot both be."""
        density = self._places.items(share) / self.universe_size
        lowest, highest = (
            self._places.items(end) / self.universe_size for end in (share - bound, share + bound)
        )
        if lowest > 1:
            return None
        return max(density - max(lowest, 0.0), abs(min(max(highest, 0.0), 1.0) - density))

    def _standard_error(self, share: float, announced_intrusions: int) -> float:
        """Of the density, by the delta method, if `share` of the places are touched, at most nearly all."""
        touched = min(max(share, 0.0), self._places.full)
        variance = self.table.share_variance(touched, announced_intrusions)
        variance += self._places.variance(touched, self.table_size)
        return self._places.slope(touched) / self.universe_size * math.sqrt(variance)

    def _bound(self, announced_intrusions: int, confidence: float) -> float:
        return self.table.share_bound(hashing_errors(self.table_size), announced_intrusions, 1 - confidence)

    expected_note = "if at most half of all items come"

    def expected_error_bound(self, confidence: float, announced_intrusions: int) -> float:
        """At most 1, the error of the projection."""
        bound = self._bound(announced_intrusions, confidence)
        highest = self._places.touched(self.universe_size / 2) + bound
        # It grows with the share up to the size of the universe; from there only the lower end grows.
        last = self._places.touched(self.universe_size) - bound
        bounds = (self._error_bound(share, bound) for share in (min(highest, last), highest))
        return min(1.0, max(1.0 if found is None else found for found in bounds))


def hashing_errors(table_size: int) -> BoundedErrors:
    """The share of touched places among `table_size`, less the expected share (`HashedPlaces`)."""
    return BoundedErrors(1 / table_size)

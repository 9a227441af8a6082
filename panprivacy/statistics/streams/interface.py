"""A stream algorithm: how a curator's state changes with every item, and the result at the end.

A *cell* is a place of the table, 0..table_size − 1. `Sample` decides which items have one, and which; items
without one leave the state unchanged.
"""

import random
from abc import abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from panprivacy.accounting.guarantees import Guarantee
from panprivacy.statistics.device_input import DeviceInput
from panprivacy.statistics.interface import Statistic
from panprivacy.statistics.intervals.estimate import Estimate
from panprivacy.statistics.streams.item_bits import TouchedBits
from panprivacy.statistics.streams.parameters import StreamParameters
from panprivacy.statistics.streams.state import StreamState

P = TypeVar("P", bound=StreamParameters)

CONFIDENCE = 0.95
"""The default confidence of an error bound."""

INTRUSION_ORDER = (
    "the intrusion by surprise coming after the announced ones, each announced at once: two readings of the "
    "state between which nothing was randomized again protect no item (PPS section 6.1)"
)
"""The assumption of every pan guarantee of a stream."""


def require_confidence(confidence: float) -> None:
    """ValueError unless it is above 0 and below 1."""
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must be above 0 and below 1, not {confidence}")


def require_allowed(announced_intrusions: int, allowed: int) -> None:
    """ValueError unless it is a number of announced intrusions that the parameters allow."""
    if not 0 <= announced_intrusions <= allowed:
        raise ValueError(f"announced intrusions must be 0..{allowed}, not {announced_intrusions}")


def count_announcement(state: StreamState, allowed: int) -> None:
    """Note one more announced intrusion; ValueError if there have been as many as allowed."""
    require_allowed(state.announced_intrusions + 1, allowed)
    state.announced_intrusions += 1


@dataclass(frozen=True, kw_only=True)
class CloseStreams:
    """The streams that an estimate is about if it is not about the stream itself (PPS section 4).

    Attributes:
        counted_from: this many appearances and more count in full.
        not_counted_up_to: this many and fewer do not count; in between, they count in part.
        universe_size: number of items.
    """

    counted_from: float
    not_counted_up_to: float
    universe_size: int

    def truth_range(self, counts: Mapping[Any, int]) -> tuple[float, float]:
        """The fractions of items that count in full, and of those that count at all: the lowest and the
        highest value that the estimated number can have. Arguments as in `StreamStatistic.truth`."""
        in_full = sum(count >= self.counted_from for count in counts.values())
        at_all = sum(count > self.not_counted_up_to for count in counts.values())
        return in_full / self.universe_size, at_all / self.universe_size


class StreamStatistic(Statistic[P]):
    """One pan-private streaming algorithm with its parameters."""

    state_description: ClassVar[str]
    """What the state is, and why it reveals little about any item, in sentences for readers of a recipe."""

    per_item: ClassVar[bool] = False
    """Whether there is one value for each item of the universe, in its order."""

    fixed_point: ClassVar[Mapping[str, int]] = {}
    """Arrays of the state that count in fractions of one appearance: how many of them make one."""

    device_input = DeviceInput.ITEMS
    planning_obstacle = "no devices take part"

    parameters_class: ClassVar[type[StreamParameters]]
    cohort_size = 0

    @abstractmethod
    def start(self, random_source: random.Random) -> StreamState:
        """The initial state."""

    def process(self, state: StreamState, cell: int, random_source: random.Random) -> None:
        """Process one item, by the definition in the paper: count it, then draw the bits that it touches."""
        for touched in self.count_item(state, cell):
            touched.draw(random_source)

    def process_batch(
        self, state: StreamState, cells: NDArray[np.int64], random_source: random.Random
    ) -> None:
        """Process items in their order, in one call: distributed like `process` of one after the other."""
        for touched in self.count_batch(state, cells):
            touched.draw(random_source)

    @abstractmethod
    def count_item(self, state: StreamState, cell: int) -> Iterable[TouchedBits]:
        """Add one item to the counters of `state`, which draws nothing.

        Returns:
            The bits that it touches, in the order in which they are drawn; none if the state has no bits. The
            counters are right once all have been taken.
        """

    @abstractmethod
    def count_batch(self, state: StreamState, cells: NDArray[np.int64]) -> Iterable[TouchedBits]:
        """The same for items in their order, in one call."""

    @abstractmethod
    def announce_intrusion(self, state: StreamState, random_source: random.Random) -> None:
        """Randomize everything anew after a reader has seen `state`, so that it may be read once more.

        Raises:
            ValueError: as many intrusions as the parameters allow have been announced.
        """

    @abstractmethod
    def noisy_counts(self, state: StreamState, random_source: random.Random) -> NDArray[np.int64]:
        """All that a release reads from the cells: whole numbers counted in them, each with noise drawn here.
        `estimate` computes everything else from these numbers."""

    @abstractmethod
    def estimate(
        self, state: StreamState, random_source: random.Random, confidence: float = CONFIDENCE
    ) -> Estimate:
        """The released result, with noise of its own. Any other computation from `state` is not private if
        the state is read, too.

        Args:
            confidence: of the error bounds, above 0 and below 1.
        """

    @abstractmethod
    def truth(self, counts: Mapping[Any, int]) -> tuple[float, ...]:
        """The exact answer, for simulations: item → how often it appeared; without those that did not."""

    @property
    def close_streams(self) -> CloseStreams | None:
        """The streams that the estimate is about; None if `truth` is what it estimates."""
        return None

    @property
    def bit_epsilon(self) -> float | Fraction | None:
        """ε of every bit of the state (`BitDistributions.original`); None if it is not made of such bits."""
        return None

    @abstractmethod
    def guarantee(self, announced_intrusions: int) -> Guarantee:
        """The guarantee against one surprise intrusion, this number of announced ones, and the result."""

    @abstractmethod
    def expected_error_bound(self, confidence: float = CONFIDENCE, announced_intrusions: int = 0) -> float:
        """The largest expected error bound after this number of announced intrusions, for planning; under the
        condition of `expected_note`."""

    def local_guarantees(self) -> tuple[Guarantee, ...]:
        """None: the curator sees every item."""
        return ()

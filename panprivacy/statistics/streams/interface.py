"""A stream algorithm: how a curator's state changes with every item, and the result at the end.

A *cell* is a place of the table, 0..table_size − 1. `Sample` decides which items have one, and which; items
without one leave the state unchanged.
"""

import random
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from panprivacy.accounting.guarantees import Guarantee
from panprivacy.intervals.estimate import Estimate
from panprivacy.statistics.device_input import DeviceInput
from panprivacy.statistics.interface import Statistic
from panprivacy.statistics.streams.parameters import StreamParameters
from panprivacy.statistics.streams.state import StreamState

P = TypeVar("P", bound=StreamParameters)

CONFIDENCE = 0.95
"""The default confidence of an error bound."""


def require_confidence(confidence: float) -> None:
    """ValueError unless it is above 0 and below 1."""
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must be above 0 and below 1, not {confidence}")


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

    @abstractmethod
    def process(self, state: StreamState, cell: int, random_source: random.Random) -> None:
        """Process one item, by the definition in the paper."""

    @abstractmethod
    def process_batch(
        self, state: StreamState, cells: NDArray[np.int64], random_source: random.Random
    ) -> None:
        """Process items in their order, in one call: distributed like `process` of one after the other."""

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

    def truth_range(
        self,
        counts: Mapping[Any, int],  # noqa: ARG002  # most estimate `truth` itself
    ) -> tuple[float, float] | None:
        """The lowest and the highest value that the estimated number can have, if it is not `truth`."""
        return None

    @abstractmethod
    def guarantee(self, announced_intrusions: int) -> Guarantee:
        """The guarantee against one surprise intrusion, this number of announced ones, and the result."""

    def bit_probabilities(
        self,
        announced_intrusions: int,  # noqa: ARG002  # for states of bits
    ) -> tuple[float, float] | None:
        """The probability that a bit of the state is 1 after this number of announced intrusions: for an item
        that never came, and the highest for one that did. None if the state is not made of such bits."""
        return None

    @abstractmethod
    def expected_error_bound(self, confidence: float = CONFIDENCE, announced_intrusions: int = 0) -> float:
        """The largest expected error bound after this number of announced intrusions, for planning; under the
        condition of `expected_note`."""

    def local_guarantees(self) -> tuple[Guarantee, ...]:
        """None: the curator sees every item."""
        return ()

"""What density and cropped mean share: one randomized bit for each cell, whose mean gives the estimate for
all items."""

import random
from abc import abstractmethod
from fractions import Fraction
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from panprivacy.accounting import discrete_laplace
from panprivacy.intervals.estimate import Interval
from panprivacy.intervals.exact import intervals
from panprivacy.intervals.touched_cells import TouchedCells
from panprivacy.statistics.streams.deviation import BoundedErrors, ErrorPart, LaplaceErrors, deviation
from panprivacy.statistics.streams.intrusions import count_announcement
from panprivacy.statistics.streams.item_bits import BitDistributions, total_epsilon
from panprivacy.statistics.streams.parameters import StreamParameters
from panprivacy.statistics.streams.result_noise import with_laplace_noise
from panprivacy.statistics.streams.state import StreamState
from panprivacy.statistics.streams.user_level import UserLevelStatistic

P = TypeVar("P", bound=StreamParameters)


class BitTable(UserLevelStatistic[P]):
    """Tables of `table_size` bits; an item has at most one bit in each.

    A bit that was drawn from D₁ at least once is *touched*. The estimate is the share of touched bits of each
    table. ε is divided over the tables, because one item may have a bit in each.

    State: `bits`, one per cell, table after table.
    """

    @property
    def tables(self) -> int:
        """How many tables there are."""
        return 1

    @property
    def table_epsilon(self) -> Fraction:
        """The most that each intrusion into one table costs, and also the result from it."""
        return Fraction(self.parameters.epsilon) / self.tables

    @property
    @abstractmethod
    def theorem(self) -> str:
        """The result of the paper that the guarantee follows from, e.g. "PPS Theorem 3.2"."""

    def distributions(self, announced_intrusions: int) -> BitDistributions:
        """The distributions of untouched and touched bits after this number of announced intrusions."""
        return BitDistributions.after(self.table_epsilon, announced_intrusions)

    def bit_probabilities(self, announced_intrusions: int) -> tuple[float, float]:
        distributions = self.distributions(announced_intrusions)
        return float(distributions.absent), float(distributions.present)

    def start(self, random_source: random.Random) -> StreamState:
        original = BitDistributions.original(self.table_epsilon)
        bits = original.draw_absent(self.tables * self.parameters.table_size, random_source)
        return StreamState(self.statistic, arrays={"bits": bits})

    def announce_intrusion(self, state: StreamState, random_source: random.Random) -> None:
        count_announcement(state, self.parameters.announced_intrusions)
        BitDistributions.original(self.table_epsilon).redraw(state.arrays["bits"], random_source)

    def noisy_counts(self, state: StreamState, random_source: random.Random) -> NDArray[np.int64]:
        """The number of ones in each table, which one item changes by at most 1, with noise of scale 1/ε.

        In print, the noise is added after the division by ε/4 instead, and costs 4 there, whatever ε is.
        """
        ones = state.arrays["bits"].reshape(self.tables, -1).sum(axis=1, dtype=np.int64)
        return with_laplace_noise(ones, 1 / self.table_epsilon, random_source)

    def noisy_shares(self, state: StreamState, random_source: random.Random) -> list[float]:
        """The share of touched bits of each table, unbiased, with the noise of a release."""
        distributions = self.distributions(state.announced_intrusions)
        fractions = self.noisy_counts(state, random_source) / self.parameters.table_size  # the paper's θ
        shares: list[float] = ((fractions - float(distributions.absent)) / distributions.distance).tolist()
        return shares

    def share_variance(self, share: float, announced_intrusions: int) -> float:
        """Of one of `noisy_shares` if `share` of the table's bits are touched, from 0 to 1."""
        size = self.parameters.table_size
        distributions = self.distributions(announced_intrusions)
        present, absent = float(distributions.present), float(distributions.absent)
        per_bit = share * present * (1 - present) + (1 - share) * absent * (1 - absent)
        noise = discrete_laplace.variance(1 / self.table_epsilon)
        return (size * per_bit + noise) / (size * distributions.distance) ** 2

    def share_bound(
        self, sampling: ErrorPart, announced_intrusions: int, failure_probability: float
    ) -> float:
        """The bound that the distance of one of `noisy_shares` from the share in the whole universe exceeds
        with this probability.

        Args:
            sampling: the error by the choice of the table's items.
        """
        size = self.parameters.table_size
        distance = self.distributions(announced_intrusions).distance
        noise = LaplaceErrors(1 / self.table_epsilon, np.array([1 / (size * distance)]))
        bits = BoundedErrors(1 / (size * distance**2))
        return deviation([bits, noise, sampling], failure_probability)

    def share_intervals(
        self, share: float, announced_intrusions: int, drawn: float, most: int, unit: float
    ) -> tuple[Interval, ...]:
        """For the share in the whole universe, times `unit`, by exact tests.

        Args:
            share: one of `noisy_shares`.
            drawn: how many of the table's items are drawn with replacement; the others represent the universe
                exactly.
            most: the share has steps of 1/`most`.
        """
        distributions, size = self.distributions(announced_intrusions), self.parameters.table_size
        present, absent = float(distributions.present), float(distributions.absent)
        cells = TouchedCells(size, drawn, most, absent, present, 1 / self.table_epsilon)
        ones = round(size * (absent + share * distributions.distance))
        return intervals(cells, [ones], most, unit / most)

    def total_epsilon(self, announced_intrusions: int) -> float:
        return self.tables * total_epsilon(self.table_epsilon, announced_intrusions, self.table_epsilon)

    @property
    def source(self) -> str:
        return (
            f"{self.theorem}: at most ε for the intrusion and ε for the result, with noise on the count of "
            "ones before scaling. Computed exactly, as the largest loss over all that can be seen and all "
            "appearances."
        )

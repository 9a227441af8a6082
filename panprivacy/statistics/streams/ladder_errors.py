"""How far the fraction of heavy hitters, read from a ladder of tables, may be off for a close stream."""

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from panprivacy.accounting import discrete_laplace
from panprivacy.statistics.streams.deviation import BoundedErrors, LaplaceErrors, deviation, table_sampling


class LadderErrors:
    """Of the bits, the multiplicities, the noise of the result, and the choice of the table's items.

    The distance is `BitDistributions.distance`: how much a bit reveals about its item.
    """

    def __init__(
        self,
        weights: NDArray[np.float64],
        table_size: int,
        universe_size: int,
        noise_scale: Fraction,
    ) -> None:
        """Args:
        weights: of the tables (`Ladder.weights`).
        noise_scale: of the noise on each table's number of ones.
        """
        self._weights = weights
        self._table_size = table_size
        self._universe_size = universe_size
        self._noise_scale = noise_scale

    def standard_error(self, fraction: float, distance: float) -> float:
        """An upper bound if no intrusion was announced and this fraction are heavy hitters."""
        size, universe_size = self._table_size, self._universe_size
        scale = self._weights / distance
        noise = discrete_laplace.variance(self._noise_scale) / size**2
        variance = float((scale**2).sum()) * (0.25 / size + noise)
        left_out = (universe_size - size) / max(1, universe_size - 1)
        # Each item adds a number from 0 to 2 with mean `fraction`, whose square is at most twice that.
        return math.sqrt(variance + (2 * fraction + left_out * fraction * (1 - fraction)) / size)

    def bound(self, distance: float, announced_intrusions: int, failure_probability: float) -> float:
        """What the error exceeds with at most this probability."""
        size = self._table_size
        phases = announced_intrusions + 1
        # An item with x < t appearances should have wrapped with probability x/t; spread over several phases
        # it did with 1 − (1 − x/(t·phases))^phases at least, and x = t loses most. Tables with weights of one
        # sign may have lost it, and the others not.
        lost = (1 - 1 / phases) ** phases * np.abs(self._weights)
        shift = max(float(lost[self._weights > 0].sum()), float(lost[self._weights < 0].sum()))
        width = 1 + float(lost.sum())
        scale = self._weights / distance / size
        sampling = table_sampling(size, self._universe_size)
        return shift + deviation(
            [
                BoundedErrors(size * float((scale**2).sum())),  # bits, given the multiplicities
                BoundedErrors((1 + width) ** 2 / size),  # multiplicities: each item adds 0..2
                BoundedErrors(sampling.squared_widths * width**2),
                LaplaceErrors(self._noise_scale, scale),
            ],
            failure_probability,
        )

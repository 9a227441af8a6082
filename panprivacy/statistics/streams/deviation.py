"""How far a sum of independent errors of several types may go: Chernoff's bound, minimized numerically.

For every rate λ > 0, Pr[X ≥ x] ≤ exp(K(λ) − λ·x), and K(λ) = ln E exp(λX) is the sum of the parts'. So
x = (K(λ) + ln(1/β))/λ is exceeded with probability β at most, whichever λ is taken; we take about the best.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np

# Its parts are loaded when they are first used (see accounting/discrete_gaussian_sum.py).
import scipy
from numpy.typing import NDArray

from panprivacy.accounting import discrete_laplace


class ErrorPart(Protocol):
    """One of several independent errors with mean 0."""

    @property
    def largest_rate(self) -> float:
        """`cumulant` takes rates of a smaller absolute value."""

    def cumulant(self, rate: float) -> float:
        """ln E exp(rate·X), or something larger."""


@dataclass(frozen=True)
class BoundedErrors:
    """A sum of independent errors, each varying within a known width (Hoeffding 1963, eq. 4.16).

    Attributes:
        squared_widths: the sum of the widths' squares.
    """

    squared_widths: float

    largest_rate = math.inf

    def cumulant(self, rate: float) -> float:
        return self.squared_widths * rate**2 / 8


def table_sampling(table_size: int, universe_size: int) -> BoundedErrors:
    """The mean of values from 0 to 1 over a table that is drawn without replacement, less that over all.

    Serfling 1974, Theorem 2.2; no error if every item has a place in the table.
    """
    if table_size == universe_size:
        return BoundedErrors(0.0)
    return BoundedErrors((1 - (table_size - 1) / universe_size) / table_size)


@dataclass(frozen=True)
class LaplaceErrors:
    """Independent discrete Laplace draws of one scale, each times its weight, added up."""

    scale: Fraction
    weights: NDArray[np.float64]

    @property
    def largest_rate(self) -> float:
        return 1 / (float(self.scale) * float(np.abs(self.weights).max()))

    def cumulant(self, rate: float) -> float:
        return sum(
            discrete_laplace.log_moment(self.scale, rate * weight)
            for weight in self.weights.tolist()
            if weight
        )


def deviation(parts: Sequence[ErrorPart], failure_probability: float) -> float:
    """A bound that the absolute value of the sum of `parts` exceeds with at most this probability.

    Args:
        parts: at least one of them with a finite `largest_rate`.
        failure_probability: above 0, below 1; half of it is for each side.
    """
    needed = math.log(2 / failure_probability)
    largest = math.log(min(part.largest_rate for part in parts))

    def smallest_bound(sign: int) -> float:
        def bound(log_rate: float) -> float:
            rate = math.exp(log_rate)
            return (sum(part.cumulant(sign * rate) for part in parts) + needed) / rate

        found = scipy.optimize.minimize_scalar(
            bound, bounds=(largest - 30, largest - 1e-9), method="bounded", options={"xatol": 1e-6}
        )
        return float(found.fun)

    return max(smallest_bound(1), smallest_bound(-1))

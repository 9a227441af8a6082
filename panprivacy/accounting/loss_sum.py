"""The sum of two independent privacy losses, without a lattice or a transform.

If values are finitely many, δ(ε) = Pr[L + M = ∞] + E[max(0, 1 − e^{ε−L−M})] is a sum over those of one loss.
Each adds what the other loss has beyond the rest of ε:

    δ(ε) = Pr[L + M = ∞] + Σ_l Pr[L = l]·β(ε − l),   β(x) = E[max(0, 1 − e^{x−M}); M < ∞].

Between two values of M, 1 − β is an exponential and a constant, known from the upper of both. All terms are
positive, so that nothing cancels: the computed number is exact except for a rounding error that is added.
Replacing one category by another changes two places, so most compositions are of two.
"""

import math
from functools import cached_property

import numpy as np

from panprivacy.accounting.interface import smallest_epsilon
from panprivacy.accounting.privacy_loss import Array, PrivacyLoss
from panprivacy.accounting.rounding import UNIT

_ROUNDINGS = 16  # of single operations that make up a term


class LossSum:
    """The sum of two independent losses, the special case of `ComposedLoss` for two."""

    def __init__(self, first: PrivacyLoss, second: PrivacyLoss) -> None:
        # The larger one is searched for values, the smaller one gone through.
        self._outer, inner = sorted((first, second), key=lambda loss: loss.losses.size)
        self._beyond = _Tail(inner)
        self._reveals_all = any(loss.masses.sum() == 0 for loss in (first, second))
        self._infinite = -math.expm1(
            sum(math.log1p(-min(loss.infinite, 1 - UNIT)) for loss in (first, second))
        )
        self._largest = first.largest + second.largest
        terms = first.losses.size + second.losses.size
        self._rounded_up = 1 + _ROUNDINGS * UNIT * (terms + _ROUNDINGS)

    def delta(self, epsilon: float) -> float:
        """An upper bound on δ(ε), ε ≥ 0, in [0, 1]."""
        if self._reveals_all:
            return 1.0
        found = self._infinite
        if epsilon < self._largest:
            found += float(self._outer.masses @ self._beyond.at(self._rest_of(epsilon)))
        return min(1.0, found * self._rounded_up)

    def _rest_of(self, epsilon: float) -> Array:
        """ε less each value of one loss, rounded down: δ falls with it."""
        losses = self._outer.losses
        return (epsilon - losses) - 4 * UNIT * (epsilon + np.abs(losses))

    def epsilon(self, delta: float) -> float:
        """The smallest ε ≥ 0 with δ(ε) ≤ `delta`, from above; infinity if there is none."""
        if self._reveals_all or delta < self._infinite * self._rounded_up:
            return math.inf
        return min(smallest_epsilon(self.delta, delta), self._largest)


class _Tail:
    """β of one loss."""

    def __init__(self, loss: PrivacyLoss) -> None:
        kept = loss.masses > 0
        self._losses, self._masses = loss.losses[kept], loss.masses[kept]

    def at(self, x: Array) -> Array:
        """β at each x, to a relative error of about as many rounding units as there are values."""
        above = np.searchsorted(self._losses, x)  # the next value, or if there is none a β of 0
        mass, height, losses = self._tables
        down = np.minimum(0.0, x - losses[above])
        return np.asarray(mass[above] * -np.expm1(down) + np.exp(down) * height[above])

    @cached_property
    def _tables(self) -> tuple[Array, Array, Array]:
        """Pr[l ≤ M < ∞] and β(l) at each value l, and the values; beyond the last both are 0."""
        mass = np.append(np.cumsum(self._masses[::-1])[::-1], 0.0)
        heights = [0.0, 0.0]
        for gap, beyond in zip(np.diff(self._losses)[::-1], mass[-2:0:-1], strict=True):
            heights.append(beyond * -math.expm1(-gap) + math.exp(-gap) * heights[-1])
        return mass, np.array(heights[::-1]), np.append(self._losses, math.inf)

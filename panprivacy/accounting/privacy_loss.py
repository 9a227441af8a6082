"""Privacy losses: a curve δ(ε) as a random variable.

The privacy loss of an outcome o is L = ln(P(o)/Q(o)), o drawn from P. It determines everything about a pair:

    δ(ε) = Pr[L = ∞] + E[max(0, 1 − e^{ε−L})],

and the losses of independent outputs add up (`composed_loss`). A curve becomes a loss by connecting dots
(Doroshenko, Ghazi, Kamath, Kumar & Manurangsi 2022, Algorithm 1). A curve known at finitely many ε, connected
by lines in e^ε, is the curve of a loss with finitely many values. It lies above the true one, because δ is
convex in e^ε. Replacing every part of a composition by one that lies above keeps the composition above (Zhu,
Dong & Wang 2022, Theorem 10).
"""

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from panprivacy.accounting.interface import PrivacyEvent

Array = NDArray[np.float64]

NEGLIGIBLE = 1e-38
"""Probability of losses that are taken as infinite: below every δ that is asked for, even times a million."""

LARGEST_LOSS = 600.0
"""Losses beyond are taken as infinite: their exponentials must stay numbers."""

_FLATNESS = 2.2e-3  # see `_dots`; a quarter of it is left, because middles become dots too
_MOST_DOTS = 1000


@dataclass(frozen=True, eq=False)
class PrivacyLoss:
    """A loss with finitely many values.

    Attributes:
        losses: its values, in nats.
        masses: their probabilities under P.
        infinite: probability that it is infinite.
    """

    losses: Array
    masses: Array
    infinite: float

    @cached_property
    def largest(self) -> float:
        """The largest finite loss."""
        return float(self.losses[self.masses > 0].max(initial=0.0))

    @cached_property
    def variance(self) -> float:
        """Variance of the finite part."""
        total = float(self.masses.sum()) or 1.0
        mean = float((self.masses * self.losses).sum()) / total
        return float((self.masses * (self.losses - mean) ** 2).sum()) / total

    def epsilon(self, delta: float) -> float:
        """About the smallest ε ≥ 0 with δ(ε) ≤ `delta`; infinity if there is none."""
        if delta < self.infinite:
            return math.inf
        low, high = 0.0, self.largest
        for _ in range(30):
            middle = (low + high) / 2
            beyond = np.maximum(0.0, self.losses - middle)
            if self.infinite + float((self.masses * -np.expm1(-beyond)).sum()) > delta:
                low = middle
            else:
                high = middle
        return high

    def truncated(self, mass: float) -> "PrivacyLoss":
        """The same with the largest losses, of probability at most `mass` together, taken as infinite."""
        kept = self.masses.size - int(np.searchsorted(np.cumsum(self.masses[::-1]), mass, side="right"))
        kept = max(kept, 1)
        return PrivacyLoss(
            self.losses[:kept], self.masses[:kept], self.infinite + float(self.masses[kept:].sum())
        )

    def raised(self, mass: float, tilt: float) -> "PrivacyLoss":
        """One above this: the smallest losses are raised to the next one: the most that have at most a
        probability `mass` there, all probabilities weighted by e^{tilt·L}.
        """
        # e^{tilt·L} as a part of the largest, and the probability below each loss.
        exponents = tilt * (self.losses - self.losses[-1])
        below = np.concatenate([[0.0], np.cumsum(self.masses[:-1])])
        allowed = mass * float(self.masses @ np.exp(exponents))
        first = int(np.searchsorted(below * np.exp(exponents), allowed, side="right")) - 1
        masses = self.masses[first:].copy()
        masses[0] += float(self.masses[:first].sum())
        return PrivacyLoss(self.losses[first:], masses, self.infinite)

    def on_lattice(self, spacing: float, *, upwards: bool = False) -> tuple[NDArray[np.int64], Array]:
        """Indices and masses of a loss on multiples of `spacing` whose curve lies above this one.

        Each mass is split between both neighbours such that P and Q keep their total (connect the dots); or
        moved upwards.
        """
        if upwards:
            kept = self.masses > 0
            return np.ceil(self.losses[kept] / spacing).astype(np.int64), self.masses[kept]
        # Doroshenko et al. 2022, Algorithm 1: of a mass at L, between l and l + spacing, the part
        # (1 − e^{l−L})/(1 − e^{−spacing}) goes up, and the rest down.
        below = np.floor(self.losses / spacing)
        up = np.expm1(-np.maximum(0.0, self.losses - below * spacing)) / math.expm1(-spacing)
        up = np.clip(up, 0.0, 1.0)
        index = below.astype(np.int64)
        index = np.concatenate([index, index + 1])
        masses = np.concatenate([self.masses * (1 - up), self.masses * up])
        return index[masses > 0], masses[masses > 0]


Directions = tuple[PrivacyLoss, PrivacyLoss]
"""The losses of (P, Q) and of (Q, P); the same object twice if one represents the worse of both."""


class Decomposable(PrivacyEvent):
    """An event that consists of independent parts, which compositions then see one by one."""

    @abstractmethod
    def parts(self) -> tuple[tuple[Directions, int], ...]:
        """Losses of each part, and how often it occurs; the first losses compose, and the second ones do."""


def symmetric_loss(curve: Callable[[float], float], dots_apart: float = 0.0) -> PrivacyLoss:
    """The loss of a pair whose curve is at least `curve` in both directions, hardly more.

    Args:
        curve: ε ≥ 0 → the larger of both directions' δ(ε), or a bound on it; need not be convex.
        dots_apart: `PrivacyEvent.dots_apart`.

    Returns:
        A loss whose curve lies above every curve of two directions below `curve`.
    """

    # Step 1: the ε from which on nothing matters.
    end = _end(curve)
    if end == 0.0:
        return PrivacyLoss(np.zeros(1), np.array([1 - curve(0.0)]), curve(0.0))
    # Step 2: dots of the curve, dense where it bends.
    epsilons, deltas = _dots(curve, end, dots_apart)
    # Step 3: one pair (P, Q) for both directions needs a curve at negative ε, too (own).
    # The curve at −ε is 1 − e^{−ε}·(1 − δ(ε)); the line from there to ε passes 0 at this height.
    growth = np.expm1(epsilons[1:])
    deltas[0] = min(deltas[0], float(((2 * deltas[1:] + growth) / (growth + 2)).min()))
    # Step 4: connect the dots.
    return loss_of_curves(epsilons, deltas, epsilons, deltas)


def loss_of_curves(
    epsilons: Array, deltas: Array, reverse_epsilons: Array, reverse_deltas: Array
) -> PrivacyLoss:
    """The loss of (P, Q), P's divergence from Q and Q's from P each given at rising ε from 0 on.

    Args:
        epsilons, deltas: ε, rising from 0 on, and the hockey-stick divergence of P from Q there, or a bound
            on it from above; of one shape (m,).
        reverse_epsilons, reverse_deltas: the same of Q from P, of a shape of their own.

    Returns:
        The loss whose curves are the lower convex hulls (in e^ε) of the points, and constant after the last.
        Because divergences are convex in e^ε, no curve below the points is above it.
    """
    # Losses above 0 from P's divergence, those below 0 from Q's; what is left of P's mass has the loss 0.
    losses, under_p, _ = _connected(epsilons, deltas)
    reverse_losses, _, reverse_under_p = _connected(reverse_epsilons, reverse_deltas)
    infinite = float(deltas[-1])
    rest = max(0.0, 1 - infinite - float(under_p.sum() + reverse_under_p.sum()))
    return PrivacyLoss(
        np.concatenate([-reverse_losses[::-1], [0.0], losses]),
        np.concatenate([reverse_under_p[::-1], [rest], under_p]),
        infinite,
    )


def grid(at_zero: float, end: float, step: float) -> Array:
    """ε from 0 to `end`: even steps within the spread of a Gaussian loss with this δ(0), then widening.

    Args:
        at_zero: δ(0), from 0 to 1.
        end: the last ε, above 0.
        step: the largest first step, in units of the spread, above 0.

    Returns:
        Rising ε, of shape (⌈arsinh(end/spread)/step⌉ + 1,), exactly from 0 to `end`. How near a curve is
        between them is for the caller to bound: any points give a valid one (`loss_of_curves`).
    """
    spread = 4 * min(2.5 * max(at_zero, 1e-300), end)
    last = math.asinh(end / spread)
    epsilons = spread * np.sinh(np.linspace(0.0, last, math.ceil(last / step) + 1))
    epsilons[-1] = end
    return epsilons


def _dots(delta: Callable[[float], float], end: float, apart: float) -> tuple[Array, Array]:
    """ε from 0 to `end` and δ there: dense at bends of the curve, e.g. at the atoms of a discrete loss.

    An interval is halved while the line over it is more than `_FLATNESS` to the right of the curve at its
    middle. The unit is the larger of ε and the spread. Outside the bulk more is allowed. None is halved that
    is shorter than `apart` spreads, and there more.
    """
    known = {0.0: delta(0.0), end: delta(end)}
    spread = min(2.5 * known[0.0], end)
    intervals = [(0.0, end)]
    while intervals and len(known) < _MOST_DOTS:
        halves = []
        for low, high in intervals:
            middle = (low + high) / 2 if high < 8 * max(low, spread) else math.sqrt(max(low, spread) * high)
            known[middle] = value = delta(middle)
            slope = (known[low] - known[high]) / (math.exp(high) - math.exp(low)) * math.exp(middle)
            line = known[high] + (known[low] - known[high]) * math.expm1(high - middle) / -math.expm1(
                low - high
            ) * math.exp(middle - high)
            allowed = _FLATNESS * max(middle, spread) * (1 + (middle / (4 * spread)) ** 2)
            narrowest = max(1e-4 * high, apart * (spread + middle / 4))
            if high - low > narrowest and (high - low > spread or line - value > allowed * slope):
                halves += [(low, middle), (middle, high)]
        intervals = halves
    epsilons = sorted(known)
    return np.array(epsilons), np.array([known[epsilon] for epsilon in epsilons])


def _connected(epsilons: Array, deltas: Array) -> tuple[Array, Array, Array]:
    """Losses above 0 of the curve that connects the dots, their masses under P, and those under Q."""
    # Doroshenko et al. 2022, Algorithm 1: the slope in e^ε is −Q[L > ε]. So its steps are masses under Q, and
    # e^L times them masses under P.
    growth = np.expm1(epsilons)
    kept = _lower_hull(growth, deltas)
    losses, deltas, growth = epsilons[kept], deltas[kept], growth[kept]
    slopes = np.append(np.diff(deltas) / np.diff(growth), 0.0)  # −Q[L ≥ ε], from each ε to the next
    under_q = np.maximum(0.0, np.diff(slopes))
    return losses[1:], under_q * (1 + growth[1:]), under_q


def _end(delta: Callable[[float], float]) -> float:
    """An ε from which on δ is negligible, or as small as it gets; if δ drops at once, the point of the
    drop."""
    target = max(NEGLIGIBLE, delta(LARGEST_LOSS) * (1 + 1e-9))
    if delta(0.0) <= target:
        return 0.0
    low, high = 0.0, 1.0
    while high < LARGEST_LOSS and delta(high) > target:
        low, high = high, min(2 * high, LARGEST_LOSS)
    while low == 0.0:
        if delta(high / 2) > target:
            low = high / 2
        else:
            high /= 2
    at_low = delta(low)
    while high - low > 0.01 * high or (at_low > 1e3 * target and high - low > 1e-9 * high):
        middle = (low + high) / 2
        at_middle = delta(middle)
        if at_middle <= target:
            high = middle
        else:
            low, at_low = middle, at_middle
    return high


def _lower_hull(x: Array, y: Array) -> NDArray[np.int64]:
    """Indices of the vertices of the lower convex hull of the points, y first made non-increasing."""
    y = np.minimum.accumulate(y)
    if np.all(np.diff(y[:-1]) * np.diff(x[1:]) < np.diff(y[1:]) * np.diff(x[:-1])):  # already convex
        return np.arange(x.size)
    kept: list[int] = []
    for i in range(x.size):
        while len(kept) >= 2:
            a, b = kept[-2], kept[-1]
            if (y[b] - y[a]) * (x[i] - x[b]) < (y[i] - y[b]) * (x[b] - x[a]):
                break
            kept.pop()
        kept.append(i)
    return np.array(kept)

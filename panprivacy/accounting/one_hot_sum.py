"""The sum of n one-hot vectors whose bits are randomized, exactly."""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from panprivacy.accounting import binomial
from panprivacy.accounting.assignments import LARGEST_ENUMERATED
from panprivacy.accounting.binomial import Numbers
from panprivacy.accounting.guarantees import Relation
from panprivacy.accounting.interface import (
    DEVICES,
    PrivacyEvent,
    require_delta,
    require_epsilon,
    worst_epsilon,
)
from panprivacy.accounting.randomized_response_sum import RandomizedResponseSum, flip_probabilities
from panprivacy.formats.parameters import described

_OUTSIDE = 1e-40
_FEW = 64  # assignments up to which they are gone through one by one


@dataclass(frozen=True, kw_only=True)
class OneHotSum(PrivacyEvent):
    """Σ of n one-hot vectors of k bits, each bit randomized, to an observer that knows all vectors but
    one."""

    kind: ClassVar[str] = "one_hot"

    n: int = described(**DEVICES)
    k: int = described(
        label="Length (k)",
        help="Length of the one-hot vector.",
        minimum=1,
        maximum=1_000_000,
    )
    epsilon0: float = described(
        label="Local privacy loss (ε₀)",
        help="ε of the randomized response on each bit.",
        minimum=1e-6,
        maximum=50,
    )
    relation: str = described(
        label="Relation",
        help="Whether a vector is replaced by another one, or by the vector of zeros.",
        choices=(Relation.REPLACE.value, Relation.ADD_REMOVE.value),
        default=Relation.REPLACE.value,
    )

    @property
    def neighbours(self) -> Relation:
        return Relation(self.relation)

    @property
    def proved(self) -> bool:
        if self.neighbours == Relation.ADD_REMOVE:
            return self._one_coordinate.proved
        return self.k == 1 or self.n <= LARGEST_ENUMERATED

    @property
    def method(self) -> str:
        if self.neighbours == Relation.ADD_REMOVE:
            return f"one coordinate moves: {self._one_coordinate.method}"
        if self.k == 1:
            return "a vector of one bit has one value: its replacement changes nothing"
        moves = "of the sums on the two coordinates that move"
        if self.proved:
            return f"worst case over all assignments of the other vectors (exact), {moves}"
        return f"lower end, exact for nearly unanimous other vectors: {moves}"

    @property
    def quick(self) -> bool:
        return self.neighbours == Relation.ADD_REMOVE and self._one_coordinate.quick

    @property
    def largest_loss(self) -> float:
        return self.epsilon0 if self.neighbours == Relation.ADD_REMOVE else 2 * self.epsilon0

    @property
    def _one_coordinate(self) -> RandomizedResponseSum:
        return RandomizedResponseSum(n=self.n, epsilon0=self.epsilon0)

    def delta(self, epsilon: float) -> float:
        require_epsilon(epsilon)
        if self.neighbours == Relation.ADD_REMOVE:
            return self._one_coordinate.delta(epsilon)
        if self.k == 1 or epsilon >= 2 * self.epsilon0:
            return 0.0
        return float(self._every(epsilon).max())

    def epsilon(self, delta: float) -> float:
        require_delta(delta)
        if self.neighbours == Relation.ADD_REMOVE:
            return self._one_coordinate.epsilon(delta)
        return min(worst_epsilon(self._every, delta), self.largest_loss)

    def _every(self, epsilon: float, assignment: int | None = None) -> Numbers:
        """δ for every one of `_assignments`, or for one of them."""
        if self.k == 1 or epsilon >= 2 * self.epsilon0:
            return np.zeros(1)
        pairs = _assignments(self.n - 1, self.k)
        if assignment is not None:
            pairs = [pairs[assignment]]
        if len(pairs) <= _FEW:
            return np.array([_divergence(self.n, self.epsilon0, i, j, epsilon) for i, j in pairs])
        return _divergences(self.n, self.epsilon0, epsilon, np.array(pairs))


@lru_cache(maxsize=64)
def _assignments(others: int, k: int) -> list[tuple[int, int]]:
    """How many of the others have their one at the device's place in P, and at its place in Q.

    If δ is small, the worst case is near i = others, j = 0 (all others at the device's place). A device that
    leaves then takes a one from the place with the fewest zeros. It is not always exactly there. As for a
    single bit, another assignment may put the lattice of outcomes better. For n = 10, ε₀ = 3, ε = 2.1 it is
    15% worse at i = j = 0.
    """
    if others < LARGEST_ENUMERATED:
        return [(i, j) for i in range(others + 1) for j in range(others + 1 - i) if k > 2 or i + j == others]
    near = range(4 if others < 1_000_000 else 1)  # the lattice is finer than any visible effect
    pairs = {(others - a, b) for a in near for b in near if (b == a if k == 2 else b <= a)}
    pairs |= {(j, i) for i, j in pairs}
    return sorted(pairs if k == 2 else pairs | {(0, 0)})


@dataclass(frozen=True)
class _Coordinate:
    """The sum on one coordinate, on the outcomes that matter, with the device's one on it and without.

    Attributes:
        one, zero: Pr[S + Ber(1 − p) = x] and Pr[S + Ber(p) = x] for the other bits' sum S.
        loss: log(one/zero), which grows with x, because S is log-concave.
        one_below, zero_below: their sums over all outcomes below the x-th.
    """

    one: Numbers
    zero: Numbers
    loss: Numbers
    one_below: Numbers
    zero_below: Numbers


@lru_cache(maxsize=256)
def _coordinate(n: int, epsilon0: float, ones: int) -> _Coordinate:
    """With `ones` ones among the n − 1 other bits."""
    p, keep = flip_probabilities(epsilon0)
    parts = []
    for trials, up, down in ((ones, keep, p), (n - 1 - ones, p, keep)):
        low, high = binomial.window(trials, up, down, _OUTSIDE)
        parts.append(binomial.probability(np.arange(low, high + 1), trials, up, down))
    padded = np.concatenate([[0.0], np.convolve(parts[0], parts[1]), [0.0]])
    stay, moved = padded[1:], padded[:-1]
    one, zero = keep * moved + p * stay, p * moved + keep * stay
    below = [np.concatenate([[0.0], np.cumsum(x)]) for x in (one, zero)]
    return _Coordinate(one, zero, np.log(one / zero), below[0], below[1])


def _divergence(n: int, epsilon0: float, i: int, j: int, epsilon: float) -> float:
    """Between the device's one with i others' and its one with j others', in one direction."""
    here, there = _coordinate(n, epsilon0, i), _coordinate(n, epsilon0, j)
    # The loss is that of the one less that of the other; whatever the one shows, the lowest outcomes of
    # the other are those that count.
    counted = np.searchsorted(there.loss, here.loss - epsilon)
    likely = float(here.one @ there.zero_below[counted])
    unlikely = math.exp(epsilon) * float(here.zero @ there.one_below[counted])
    error = _error(len(here.one) + len(there.one))
    return min(1.0, max(0.0, likely - unlikely) + error * (likely + unlikely) + 8 * _OUTSIDE)


def _error(size: int) -> float:
    """Each probability's own error, in the farthest outcome, and that of adding up positive terms."""
    return 2 * float(binomial.relative_error(size, 0, 0.0)) + 2.0**-50 * size


def _divergences(n: int, epsilon0: float, epsilon: float, pairs: NDArray[np.int64]) -> Numbers:
    """`_divergence` for many pairs i, j: for each j, the outcomes of all i at once."""
    coordinates = [_coordinate(n, epsilon0, ones) for ones in range(n)]
    starts = np.cumsum([0, *(len(coordinate.one) for coordinate in coordinates)])
    one = np.concatenate([coordinate.one for coordinate in coordinates])
    zero = np.concatenate([coordinate.zero for coordinate in coordinates]) * math.exp(epsilon)
    loss = np.concatenate([coordinate.loss for coordinate in coordinates]) - epsilon
    found = np.zeros((n, n))
    for j, there in enumerate(coordinates):
        if len(there_with := pairs[pairs[:, 1] == j, 0]) == 0:
            continue
        part = slice(starts[there_with.min()], starts[there_with.max() + 1])
        counted = np.searchsorted(there.loss, loss[part])
        at = starts[there_with.min() : there_with.max() + 1] - part.start
        likely = np.add.reduceat(one[part] * there.zero_below[counted], at)
        unlikely = np.add.reduceat(zero[part] * there.one_below[counted], at)
        error = _error(2 * n + 2) * (likely + unlikely) + 8 * _OUTSIDE
        found[there_with.min() : there_with.max() + 1, j] = np.maximum(0.0, likely - unlikely) + error
    return np.minimum(1.0, found[pairs[:, 0], pairs[:, 1]])

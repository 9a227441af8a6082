"""The sum of n one-hot vectors whose bits are randomized, exactly."""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np

from panprivacy.accounting import binomial
from panprivacy.accounting.binomial import Numbers
from panprivacy.accounting.guarantees import Relation
from panprivacy.accounting.interface import LARGEST_N, PrivacyEvent, require_epsilon
from panprivacy.accounting.randomized_response_sum import RandomizedResponseSum, flip_probabilities
from panprivacy.parameters import described

_OUTSIDE = 1e-40


@dataclass(frozen=True, kw_only=True)
class OneHotSum(PrivacyEvent):
    """Σ of n one-hot vectors of k bits, each bit randomized, to an observer who knows all vectors but one."""

    kind: ClassVar[str] = "one_hot"

    n: int = described(
        label="n",
        help="Number of devices, the protected one included.",
        minimum=1,
        maximum=LARGEST_N,
    )
    k: int = described(
        label="k",
        help="Length of the one-hot vector.",
        minimum=1,
        maximum=1_000_000,
    )
    epsilon0: float = described(
        label="ε₀",
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
        return self.k == 1

    @property
    def method(self) -> str:
        if self.neighbours == Relation.ADD_REMOVE:
            return f"one coordinate moves: {self._one_coordinate.method}"
        if self.k == 1:
            return "a vector of one bit has one value: its replacement changes nothing"
        return (
            "exact sum over the outcomes of the two coordinates that move, the worst case found numerically"
        )

    @property
    def _one_coordinate(self) -> RandomizedResponseSum:
        return RandomizedResponseSum(n=self.n, epsilon0=self.epsilon0)

    def delta(self, epsilon: float) -> float:
        require_epsilon(epsilon)
        if self.neighbours == Relation.ADD_REMOVE:
            return self._one_coordinate.delta(epsilon)
        if self.k == 1 or epsilon >= 2 * self.epsilon0:
            return 0.0
        return max(
            _divergence(self.n, self.epsilon0, i, j, epsilon) for i, j in _assignments(self.n - 1, self.k)
        )


def _assignments(others: int, k: int) -> list[tuple[int, int]]:
    """How many of the others are on the coordinate that loses the device, and on the one that gains it."""
    half = others // 2
    if k == 2:
        return sorted({(i, others - i) for i in (0, half, others - half, others)})
    return sorted({(0, 0), (others, 0), (0, others), (half, half), (half, others - half)})


@lru_cache(maxsize=32)
def _coordinate(n: int, epsilon0: float, ones: int) -> tuple[Numbers, Numbers]:
    """Pr[S + Ber(1 − p) = x] and Pr[S + Ber(p) = x] for the other bits' sum S, `ones` of them 1."""
    p, keep = flip_probabilities(epsilon0)
    parts = []
    for trials, up, down in ((ones, keep, p), (n - 1 - ones, p, keep)):
        low, high = binomial.window(trials, up, down, _OUTSIDE)
        parts.append(binomial.probability(np.arange(low, high + 1), trials, up, down))
    base = parts[0] if len(parts[1]) == 1 else parts[1] if len(parts[0]) == 1 else _convolved(*parts)
    padded = np.concatenate([[0.0], base, [0.0]])
    stay, moved = padded[1:], padded[:-1]
    return keep * moved + p * stay, p * moved + keep * stay


def _convolved(first: Numbers, second: Numbers) -> Numbers:
    return np.convolve(first, second)


def _divergence(n: int, epsilon0: float, i: int, j: int, epsilon: float) -> float:
    # Coordinate i: with the device's one, or without. Coordinate j: without, or with.
    with_i, without_i = _coordinate(n, epsilon0, i)
    with_j, without_j = _coordinate(n, epsilon0, j)
    with np.errstate(divide="ignore", invalid="ignore"):
        loss_i = np.log(with_i / without_i)
        loss_j = np.log(without_j / with_j)
    # loss_i grows and loss_j falls with x: whatever i shows, the outcomes of j that count are the lowest.
    counted = np.searchsorted(-loss_j, -(epsilon - loss_i), side="left")
    likely = np.concatenate([[0.0], np.cumsum(without_j)])
    unlikely = np.concatenate([[0.0], np.cumsum(with_j)])
    found = float(with_i @ likely[counted]) - math.exp(epsilon) * float(without_i @ unlikely[counted])
    return min(1.0, max(0.0, found) + 8 * _OUTSIDE)

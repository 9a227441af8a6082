"""The sum of n one-hot vectors, each sent as it is or replaced as a whole by a uniformly drawn one."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np

from panprivacy.accounting import binomial
from panprivacy.accounting.binomial import Numbers, binomial_divergence
from panprivacy.accounting.guarantees import Relation
from panprivacy.accounting.interface import DEVICES, PrivacyEvent, require_epsilon
from panprivacy.accounting.randomized_response_sum import RandomizedResponseSum
from panprivacy.formats.parameters import described

_QUICK = 10**8  # devices up to which `delta_bound` was measured to take at most 0.1 s
_MOST_DRAWN, _MOST_EITHER = 64, 256  # blocks of M, and of t
_NARROW = 4e-3  # width of blocks of M, relative to M, that costs 0.1% of ε; blocks of t have a quarter
_LEFT = (1e-10, 1e-16, 1e-22, 1e-28, 0.0)
_NEGLIGIBLE_SHARE = 1e-10
"""Blocks are added up until those left have at most such a probability, and this share of δ."""


@dataclass(frozen=True, kw_only=True)
class VectorCoinSum(PrivacyEvent):
    """Σ of n one-hot vectors of k cells, one coin for each, to an observer that knows all vectors but one.

    With probability β = (e^ε₀ − 1)/(e^ε₀ + k − 1) a device sends its vector, otherwise a uniformly drawn one
    (k-ary randomized response). So its report has its own cell with probability p = e^ε₀/(e^ε₀ + k − 1), and
    each other one with q = 1/(e^ε₀ + k − 1).

    The observer is given all reports that were not drawn uniformly, and the number M ~ Bin(n − 1, k·q) of the
    other devices' reports that were. What stays hidden is which of M + 1 reports is the device's own.

    Replacement, of cell 1 by cell 2 (k ≥ 3). Of the M + 1 reports let h be in cell 1 and t in either cell.
    Compared with M + 1 uniform reports, a sum is k·(q + (p − q)·h/(M + 1)) times as likely with the one
    input, and with t − h in place of h with the other. So h and t have all that matters. With
    γ = (e^ε₀ − 1)·t/(M + 1), t has a probability of k·q·(1 + γ/2) times that of Bin(M + 1, 2/k) under both
    inputs. Given t, the observer sees h, which is distributed as

        Bin(t − 1, 1/2) + Ber((γ + 1)/(γ + 2))  against  Bin(t − 1, 1/2) + Ber(1/(γ + 2)).

    Adding and removing, with a uniformly drawn reference report in place of the device's. Reports outside the
    device's cell are uniform on the other cells under both inputs. So the device's cell has all that matters:
    Bin(M, 1/k) + Ber(p) against Bin(M, 1/k) + Ber(1/k).

    In both cases δ is a mean of `binomial_divergence`: exact for that view, hence a bound for the sum,
    whatever the other vectors. Another uniform report is independent noise, and so is another trial. So
    blocks of numbers are bounded by their smallest M and t, and their largest γ; at n = 10,000 that adds up
    to 0.6% to ε. Two cells under replacement are one randomized bit, whose worst assignment is known.

    For two to 8 devices of 3 or 4 cells, ε is 0 to 6% above that of the worst assignment under replacement
    (δ up to 43%), and up to 22% under adding and removing. For 1,000 devices and ε₀ ≤ 2 it is at most 1%
    above that of others all in a third cell (δ = 1e-6).
    """

    kind: ClassVar[str] = "vector_coin"
    proved = True

    n: int = described(**DEVICES)
    k: int = described(
        label="Cells (k)",
        help="Length of the one-hot vector.",
        minimum=2,
        maximum=1002,
    )
    epsilon0: float = described(
        label="Local privacy loss (ε₀)",
        help="ε of one device's report, when its vector is replaced by another one.",
        minimum=1e-6,
        maximum=50,
    )
    relation: str = described(
        label="Relation",
        help="Whether a vector is replaced by another one, or its report by a uniformly drawn one.",
        choices=(Relation.REPLACE.value, Relation.ADD_REMOVE.value),
        default=Relation.REPLACE.value,
    )

    @property
    def neighbours(self) -> Relation:
        return Relation(self.relation)

    @property
    def _bits(self) -> RandomizedResponseSum | None:
        """The same release as a sum of bits, if there are two cells: one determines the other."""
        if self.k > 2 or self.neighbours != Relation.REPLACE:
            return None
        return RandomizedResponseSum(n=self.n, epsilon0=self.epsilon0)

    @property
    def quick(self) -> bool:
        return self.n <= _QUICK

    @property
    def method(self) -> str:
        if (bits := self._bits) is not None:
            return f"two cells are one bit: {bits.method}"
        return (
            "exact for an observer that is also given all reports not drawn uniformly: proved, from above, "
            "for all assignments of the other vectors"
        )

    @property
    def largest_loss(self) -> float:
        return self.epsilon0 if self.neighbours == Relation.REPLACE else max(self._losses_removed)

    @property
    def _losses_removed(self) -> tuple[float, float]:
        """ln(p·k) and −ln(q·k), rounded up: computing them errs by less than a relative 1e-13."""
        own_cell = -math.log1p(math.expm1(-self.epsilon0) * (self.k - 1) / self.k)
        other_cells = math.log1p(math.expm1(self.epsilon0) / self.k)
        return own_cell * (1 + 1e-13), other_cells * (1 + 1e-13)

    def delta(self, epsilon: float) -> float:
        return self._found(epsilon, RandomizedResponseSum.delta)

    def delta_bound(self, epsilon: float) -> float:
        return self._found(epsilon, RandomizedResponseSum.delta_bound)

    def _found(self, epsilon: float, of_bits: Callable[[RandomizedResponseSum, float], float]) -> float:
        require_epsilon(epsilon)
        if epsilon >= self.largest_loss:
            return 0.0
        if (bits := self._bits) is not None:
            return of_bits(bits, epsilon)
        return self._replaced(epsilon) if self.neighbours == Relation.REPLACE else self._removed(epsilon)

    def epsilon(self, delta: float) -> float:
        bits = self._bits
        return super().epsilon(delta) if bits is None else bits.epsilon(delta)

    def _replaced(self, epsilon: float) -> float:
        trials, odds, weight, rest = _numbers(self.n, self.k, self.epsilon0)
        growth = math.expm1(epsilon)
        found, done = 0.0, 0
        for most_left in _LEFT:
            end = min(int(np.searchsorted(-rest, -most_left)), odds.size)
            part = odds[done:end]
            # (γ + 1)/(γ + 2) − e^ε/(γ + 2), with γ rounded up, and e^ε·(γ + 1)/(γ + 2) − 1/(γ + 2)
            excess = (part * (1 + 2.0**-48) - growth) / (part + 2)
            deficit = (part * math.exp(epsilon) + growth) / (part + 2)
            given = binomial_divergence(trials[done:end], 0.5, 0.5, excess, deficit, epsilon)
            found, done = found + float(weight[done:end] @ given), end
            if rest[end] <= _NEGLIGIBLE_SHARE * found:
                break
        return min(1.0, found * (1 + 1e-11) + float(rest[done]))

    def _removed(self, epsilon: float) -> float:
        total, growth = math.exp(self.epsilon0) + self.k - 1, math.exp(epsilon)
        hidden, weight, outside = binomial.blocks(
            self.n - 1, self.k / total, math.expm1(self.epsilon0) / total
        )
        # On the device's cell, p against 1/k; and on all other cells together, 1 − 1/k against 1 − p.
        p, own, others = math.exp(self.epsilon0) / total, 1 / self.k, (self.k - 1) / self.k
        excess, other_excess = (
            -likely * math.expm1(epsilon - loss)
            for likely, loss in zip((p, others), self._losses_removed, strict=True)
        )
        deficit, other_deficit = growth * others - (self.k - 1) / total, growth * p - own
        found = max(
            float(weight @ binomial_divergence(hidden, own, others, excess, deficit, epsilon)),
            float(weight @ binomial_divergence(hidden, others, own, other_excess, other_deficit, epsilon)),
        )
        return min(1.0, found * (1 + 1e-12) + outside)


@lru_cache(maxsize=64)
def _numbers(n: int, k: int, epsilon0: float) -> tuple[Numbers, Numbers, Numbers, Numbers]:
    """Blocks of M and t under replacement (k ≥ 3), the likeliest first.

    Returns:
        Of each block the smallest t − 1, the largest γ, and the probability, rounded up: shape (m,). And the
        probability of the blocks from each on, with that outside all blocks: shape (m + 1,).
    """
    total, in_either = math.exp(epsilon0) + k - 1, 2 / k
    drawn, mass, outside = binomial.blocks(
        n - 1, k / total, math.expm1(epsilon0) / total, _MOST_DRAWN, _NARROW
    )
    reports = drawn[:, None] + 1
    low, _ = binomial.window(int(reports[0, 0]), in_either, (k - 2) / k, outside)
    _, high = binomial.window(int(reports[-1, 0]), in_either, (k - 2) / k, outside)
    t = np.arange(max(low, 1), max(high, 1) + 1, dtype=float)
    size = max(math.ceil(len(t) / _MOST_EITHER), int(_NARROW / 4 * low))
    starts = np.arange(0, len(t), size)
    last = t[np.minimum(starts + size, len(t)) - 1]

    slope = math.expm1(epsilon0) / reports
    weight = mass[:, None] * binomial.probability(t, reports, in_either, (k - 2) / k)
    weight *= k / total * (1 + slope * t / 2)
    error = binomial.relative_error(t[[0, -1]], reports, in_either).max() + 2.0**-50 * size
    weight = np.add.reduceat(weight, starts, axis=1) * (1 + error)
    odds = slope * np.minimum(last, reports)
    trials = np.broadcast_to(t[starts] - 1, odds.shape)

    order = np.argsort(-weight, axis=None)
    sorted_weight = weight.ravel()[order]
    # A t outside, on either side, is at most k times as likely as among uniform reports.
    beyond = outside + 2 * k * outside
    rest = np.append(np.cumsum(sorted_weight[::-1])[::-1], 0.0) * (1 + 1e-10) + beyond
    return trials.ravel()[order], odds.ravel()[order], sorted_weight, rest

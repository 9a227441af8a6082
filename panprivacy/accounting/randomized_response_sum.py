"""The sum of n randomized bits, exactly (LPP Theorem 7), with and without sampling."""

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import ClassVar

import numpy as np

from panprivacy.accounting import binomial
from panprivacy.accounting.assignments import (
    FEWER_RANGES,
    LARGEST_ENUMERATED,
    MOST_RANGES,
    worst_divergence,
)
from panprivacy.accounting.binomial import Numbers, binomial_divergence
from panprivacy.accounting.guarantees import Relation
from panprivacy.accounting.interface import (
    DEVICES,
    RELATIVE_TOLERANCE,
    PrivacyEvent,
    require_delta,
    require_epsilon,
    smallest_epsilon,
    worst_epsilon,
)
from panprivacy.accounting.sampled_assignments import (
    MOST_WORK,
    every_divergence,
    worst_sampled_divergence,
)
from panprivacy.formats.parameters import described

LARGEST_ONE_BY_ONE = 64
"""Number of devices up to which that is quicker than to bound ranges of assignments, without sampling."""

_QUICK = 10**8  # devices up to which `delta_bound` was measured to take at most 0.1 s, whatever ε and ε₀
_OUTSIDE = 1e-40
_BLOCKS = 4096


@dataclass(frozen=True, kw_only=True)
class RandomizedResponseSum(PrivacyEvent):
    """Σ of n randomized bits, to an observer that knows every bit but one."""

    kind: ClassVar[str] = "randomized_response"
    neighbours = Relation.REPLACE

    n: int = described(**DEVICES)
    epsilon0: float = described(
        label="Local privacy loss (ε₀)",
        help="ε of one device's randomized response.",
        minimum=1e-6,
        maximum=50,
    )
    sampling_rate: float = described(
        label="Sampling rate",
        help="Probability with which a device takes part; the sum and the number of reports are released.",
        minimum=1e-6,
        maximum=1,
        default=1.0,
    )

    @property
    def quick(self) -> bool:
        return self.n <= _QUICK and self.sampling_rate == 1

    @property
    def largest_loss(self) -> float:
        return self.epsilon0

    @property
    def proved(self) -> bool:
        return self.sampling_rate == 1 or self.n <= LARGEST_ENUMERATED

    @property
    def method(self) -> str:
        if self.sampling_rate == 1:
            exact = "exact" if self.n <= LARGEST_ONE_BY_ONE else "proved, from above"
            return f"worst case over all assignments of the other bits ({exact}), of the sum (LPP Theorem 7)"
        if self.proved:
            return "worst case over all assignments of the other bits (exact), of the sum and count"
        return "lower end, exact for unanimous other bits: of the sum and count"

    @property
    def proved_method(self) -> str:
        """How `proved_delta` is computed: one line for people."""
        if self.proved:
            return self.method
        return (
            "upper end, proved for all assignments of the other bits: of the sum and count, even if it is "
            "known how many of the others who take part have a one"
        )

    def delta(self, epsilon: float) -> float:
        require_epsilon(epsilon)
        if epsilon >= self.epsilon0:
            return 0.0
        if self.sampling_rate < 1:
            if self.n <= LARGEST_ENUMERATED:
                return float(self._every_sampled(epsilon).max())
            return _sampled(self.n, self.epsilon0, self.sampling_rate, epsilon)
        return worst_of_assignments(self.n, self.epsilon0, _excess(self.epsilon0, epsilon), epsilon)

    def _every_sampled(self, epsilon: float, ones: int | None = None) -> Numbers:
        if epsilon >= self.epsilon0:
            return np.zeros(1)
        p, _ = flip_probabilities(self.epsilon0)
        return every_divergence(self.n, p, self.sampling_rate, epsilon, ones)

    def epsilon(self, delta: float) -> float:
        require_delta(delta)
        if self.sampling_rate < 1 and self.n <= LARGEST_ENUMERATED:
            return min(worst_epsilon(self._every_sampled, delta), self.largest_loss)
        if self.sampling_rate < 1 or self.n <= LARGEST_ONE_BY_ONE:
            return super().epsilon(delta)
        least = smallest_epsilon(lambda epsilon: _unanimous(self.n, self.epsilon0, epsilon), delta)
        found = smallest_epsilon(self.delta, delta, least * (1 - 2 * RELATIVE_TOLERANCE))
        return min(found, self.largest_loss)

    def proved_delta(self, epsilon: float, most_work: int = MOST_WORK) -> float:
        """`delta` by proof, over all assignments: itself if `proved`, otherwise the upper end of a bracket.

        It does not rise with n, up to the bound's own error: another report is noise (post-processing). So
        what is exact for `LARGEST_ENUMERATED` devices holds for more.

        Args:
            most_work: as in `worst_sampled_divergence`.
        """
        found = self.delta(epsilon)
        if self.proved or epsilon >= self.epsilon0:
            return found
        p, _ = flip_probabilities(self.epsilon0)
        excess, growth = _excess(self.epsilon0, epsilon), math.expm1(epsilon)
        bound = worst_sampled_divergence(self.n, p, self.sampling_rate, excess, growth, found, most_work)
        fewer = replace(self, n=LARGEST_ENUMERATED)
        if bound > _sampled(fewer.n, self.epsilon0, self.sampling_rate, epsilon):  # at most that of `fewer`
            return min(bound, fewer.delta(epsilon))
        return bound

    def proved_epsilon(self, delta: float) -> float:
        """The smallest ε with `proved_delta` at most δ, to a relative 1e-3 or to 1e-9."""
        low = high = self.epsilon(delta)
        while (bound := self.proved_delta(high)) > delta:
            low = high
            # Both curves fall nearly in parallel.
            aim = (1 - 1e-3) * delta * self.delta(high) / bound
            high = max(smallest_epsilon(self.delta, aim, high), high * (1 + 1e-4), 1e-9)
        while high > max(low * (1 + 1e-3), 1e-9):
            middle = math.sqrt(max(low, 1e-12) * high)
            if self.proved_delta(middle) > delta:
                low = middle
            else:
                high = middle
        return min(high, self.largest_loss)

    def delta_bound(self, epsilon: float) -> float:
        """`delta` to within what moves ε by 0.25% at n = 10⁶, by 0.1% up to 10⁴."""
        if self.sampling_rate < 1 or self.n <= LARGEST_ONE_BY_ONE or epsilon >= self.epsilon0:
            return self.delta(epsilon)
        excess = _excess(self.epsilon0, epsilon)
        return worst_of_assignments(self.n, self.epsilon0, excess, epsilon, FEWER_RANGES)


def flip_probabilities(epsilon0: float) -> tuple[float, float]:
    """p = 1/(e^ε₀ + 1) and 1 − p."""
    return 1 / (math.exp(epsilon0) + 1), 1 / (1 + math.exp(-epsilon0))


def _excess(epsilon0: float, epsilon: float) -> float:
    """(1 − p) − e^ε·p, without cancellation if ε is near ε₀."""
    return -math.expm1(epsilon - epsilon0) / (1 + math.exp(-epsilon0))


def _unanimous(n: int, epsilon0: float, epsilon: float) -> float:
    """A lower bound on δ that costs nothing: nearly always nearly the worst case."""
    if epsilon >= epsilon0:
        return 0.0
    p, keep = flip_probabilities(epsilon0)
    deficit = keep * (math.expm1(epsilon) - math.expm1(-epsilon0))
    # The worse of both directions is the one in which the device's bit is theirs or not: the lower tail.
    return float(binomial_divergence(n - 1, keep, p, _excess(epsilon0, epsilon), deficit, epsilon))


def worst_of_assignments(
    n: int, epsilon0: float, excess: float, epsilon: float, most_ranges: int = MOST_RANGES
) -> float:
    """max over t and all assignments of excess·Pr[S = t − 1] − (e^ε − 1)·Pr[S ≥ t] (see binomial.py).

    S is the sum of n − 1 other devices' randomized bits. Exact up to `LARGEST_ONE_BY_ONE` devices, beyond
    from above.

    Args:
        n: devices, the protected one included, at least 1.
        excess: a − e^ε·b, above 0, if the device's bit is 1 with probability a or b.
        epsilon: ε ≥ 0.
        most_ranges: as in `worst_divergence`.
    """
    if n > LARGEST_ONE_BY_ONE:
        p, _ = flip_probabilities(epsilon0)
        # Every assignment for one direction: the other one is the first with zeros and ones exchanged.
        return worst_divergence(n - 1, p, excess, math.expm1(epsilon), most_ranges)
    return _enumerated(n, epsilon0, excess, epsilon)


def _enumerated(n: int, epsilon0: float, excess: float, epsilon: float) -> float:
    at, tail = _every_assignment(n, epsilon0)
    found = excess * at - math.expm1(epsilon) * tail
    return float(min(1.0, max(0.0, found.max()) + 1e-300))


@lru_cache(maxsize=8)
def _every_assignment(n: int, epsilon0: float) -> tuple[Numbers, Numbers]:
    """Pr[S_m = t − 1] from above and Pr[S_m ≥ t] from below, for m ones among the others (rows), t = 1..n.

    All terms are positive: adding up 300 of them errs by less than a relative 1e-13, `probability` by 1e-12.
    """
    p, keep = flip_probabilities(epsilon0)
    at = np.empty((n, n))
    for m in range(n):
        ones = binomial.probability(np.arange(m + 1), m, keep, p)
        zeros = binomial.probability(np.arange(n - m), n - 1 - m, p, keep)
        at[m] = np.convolve(ones, zeros)
    tail = np.zeros((n, n))
    tail[:, :-1] = np.cumsum(at[:, :0:-1], axis=1)[:, ::-1]
    return at, tail


def _sampled(n: int, epsilon0: float, rate: float, epsilon: float) -> float:
    p, keep = flip_probabilities(epsilon0)
    first, last, mass, outside = _counts(n, rate)
    with_protected = last / n
    # b = p without the protected bit's influence; a between p and 1 − p in proportion.
    gap = math.tanh(epsilon0 / 2) * with_protected
    growth = math.expm1(epsilon)
    # zeros, up: a = p + gap, b = p;  zeros, down (as ones among ones, up): a = 1 − p, b = 1 − p − gap.
    up = binomial_divergence(first - 1, p, keep, gap - growth * p, gap + growth * keep, epsilon)
    down = binomial_divergence(
        first - 1,
        keep,
        p,
        gap * math.exp(epsilon) - growth * keep,
        gap * math.exp(epsilon) + growth * p,
        epsilon,
    )
    return float(min(1.0, max(float(mass @ up), float(mass @ down)) * (1 + 1e-12) + outside))


@lru_cache(maxsize=64)
def _counts(n: int, rate: float) -> tuple[Numbers, Numbers, Numbers, float]:
    """Blocks of counts c ≥ 1: first, last, Pr[C in the block]; and the probability outside all blocks."""
    low, high = binomial.window(n, rate, 1 - rate, _OUTSIDE)
    low = max(low, 1)
    counts = np.arange(low, max(high, low) + 1, dtype=float)
    width = math.ceil(len(counts) / _BLOCKS)
    starts = np.arange(0, len(counts), width)
    first = counts[starts]
    last = np.minimum(first + width - 1, counts[-1])
    mass = np.add.reduceat(binomial.probability(counts, n, rate, 1 - rate), starts)
    return first, last, mass, 2 * _OUTSIDE

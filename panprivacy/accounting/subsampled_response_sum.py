"""The sum of n randomized bits if some ones are first replaced by zeros at random, and all bits are then
randomized."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from panprivacy.accounting import binomial
from panprivacy.accounting.assignments import FEWER_RANGES, MOST_RANGES
from panprivacy.accounting.binomial import Numbers, binomial_divergence
from panprivacy.accounting.guarantees import Relation
from panprivacy.accounting.interface import (
    DEVICES,
    RELATIVE_TOLERANCE,
    PrivacyEvent,
    require_delta,
    require_epsilon,
    smallest_epsilon,
)
from panprivacy.accounting.randomized_response_sum import (
    LARGEST_ONE_BY_ONE,
    flip_probabilities,
    worst_of_assignments,
)
from panprivacy.accounting.sampling import amplified_epsilon
from panprivacy.formats.parameters import described

_QUICK = 10**8


@dataclass(frozen=True, kw_only=True)
class SubsampledResponseSum(PrivacyEvent):
    """Σ of n randomized bits, to an observer that knows every bit but one. A one counts with probability π.

    A device whose bit is 1 draws whether it counts; if not, it reports as with a 0. So it reports a 1 with
    probability a = p + π·(1 − 2p), while a device with a 0 does with probability p = 1/(e^ε₀ + 1). Whether it
    counts is visible to no observer: it is part of the randomizer. One report alone is private up to

        ln(a/p) = ln(1 + π·(e^ε₀ − 1)), and from below up to ln((1 − p)/(1 − a)), which is less.

    The protected device reports a 1 with probability a or p, the others with any probabilities between p
    and a. Each of these is a mixture of p and 1 − p, and the divergence is convex in mixtures that both
    inputs share. So it is at most the largest over all assignments of p and 1 − p to the other devices.
    `RandomizedResponseSum` is about that as well (binomial.py, with excess a − e^ε·p). The other direction
    has the excess (1 − p) − e^ε·(1 − a), which is never larger, over the same assignments mirrored.

    Each of those probabilities is a mixture of p and 1, too; 1 has a weight of at most β = (a − p)/(1 − p).
    An observer that is given which bits are drawn with 1 knows at least n − 1 − Bin(n − 1, β) other bits to
    be zeros. The smaller of both bounds is taken. At π = 1 the event is `RandomizedResponseSum`; otherwise ε
    is up to some 6% above the smallest at n = 10,000. Devices that count with a smaller probability than π
    are covered, too.
    """

    kind: ClassVar[str] = "thinned_response"
    neighbours = Relation.REPLACE
    proved = True

    n: int = described(**DEVICES)
    epsilon0: float = described(
        label="Local privacy loss (ε₀)",
        help="ε of the randomized response on a bit that counts.",
        minimum=1e-6,
        maximum=50,
    )
    rate: float = described(
        label="Rate",
        help="The largest probability with which a one counts.",
        minimum=1e-9,
        maximum=1,
    )

    @property
    def quick(self) -> bool:
        return self.n <= _QUICK

    @property
    def largest_loss(self) -> float:
        return amplified_epsilon(self.epsilon0, self.rate)

    @property
    def method(self) -> str:
        return (
            "worst case over all assignments of the other bits (proved, from above), of the sum of bits that "
            f"count with probability {self.rate:.4g} before they are randomized (LPP Theorem 7)"
        )

    def delta(self, epsilon: float) -> float:
        return self._worst(epsilon, MOST_RANGES)

    def delta_bound(self, epsilon: float) -> float:
        """`delta` to within what moves ε by 0.25% at n = 10⁶."""
        return self._worst(epsilon, FEWER_RANGES)

    def epsilon(self, delta: float) -> float:
        require_delta(delta)
        least = 0.0
        if self.n > LARGEST_ONE_BY_ONE:  # from a bound from below that costs nothing
            least = smallest_epsilon(self._unanimous, delta) * (1 - 2 * RELATIVE_TOLERANCE)
        return min(smallest_epsilon(self.delta, delta, least), self.largest_loss)

    def _worst(self, epsilon: float, most_ranges: int) -> float:
        require_epsilon(epsilon)
        if epsilon >= self.largest_loss:
            return 0.0
        excess = self._excess(epsilon)
        found = worst_of_assignments(self.n, self.epsilon0, excess, epsilon, most_ranges)
        return found if self.n <= LARGEST_ONE_BY_ONE else min(found, self._among_zeros(epsilon))

    def _excess(self, epsilon: float) -> float:
        """a − e^ε·p, without cancellation if ε is near `largest_loss`."""
        p, _ = flip_probabilities(self.epsilon0)
        reported = p + self.rate * math.tanh(self.epsilon0 / 2)
        return -reported * math.expm1(epsilon - self.largest_loss)

    def _among_zeros(self, epsilon: float) -> float:
        """δ if the observer is given which other devices report a one for certain, and none of the rest has
        one."""
        _, keep = flip_probabilities(self.epsilon0)
        beta = self.rate * math.tanh(self.epsilon0 / 2) / keep
        first, weight, outside = binomial.blocks(self.n - 1, 1 - beta, beta)
        return min(1.0, float(weight @ self._zeros(first, epsilon)) * (1 + 1e-12) + outside)

    def _unanimous(self, epsilon: float) -> float:
        """δ if all others have a zero: from below, except for the rounding of an upper bound."""
        if epsilon >= self.largest_loss:
            return 0.0
        return float(self._zeros(self.n - 1, epsilon))

    def _zeros(self, others: ArrayLike, epsilon: float) -> Numbers:
        """δ with this number of others, all with a zero, in the worse direction."""
        p, keep = flip_probabilities(self.epsilon0)
        gap, growth = self.rate * math.tanh(self.epsilon0 / 2), math.expm1(epsilon)
        # One for zero: e^ε·(1 − p) − (1 − a). Zero for one, counting zeros: (1 − p) − e^ε·(1 − a), e^ε·a − p.
        up = binomial_divergence(others, p, keep, self._excess(epsilon), keep * growth + gap, epsilon)
        down_excess = gap * math.exp(epsilon) - growth * keep
        down_deficit = gap * math.exp(epsilon) + growth * p
        down = binomial_divergence(others, keep, p, down_excess, down_deficit, epsilon)
        return np.maximum(up, down)

"""A budget that holds although each release is chosen after seeing previous ones.

Composing the curves of releases assumes that their parameters were chosen without regard to results. An
analyst who chooses the next ε after seeing them can exceed what is composed. A *privacy filter* (Rogers,
Roth, Ullman & Vadhan 2016) is a rule for admitting the next release that holds against every such choice.

This one adds Rényi divergences at one order α, which the budget alone fixes. A capacity is fixed with it.
While their sum stays within it, everything released has a Rényi divergence of at most that capacity, however
each release was chosen (Feldman & Zrnic 2021, Theorem 3.1; Lécuyer 2021). What may fail altogether is cut off
first, and adds up apart (approximate divergences: Whitehouse, Ramdas, Rogers & Wu 2023, Theorem 1).
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from panprivacy.accounting.interface import PrivacyEvent, require_delta, require_epsilon
from panprivacy.accounting.number_cache import parts_of
from panprivacy.accounting.privacy_loss import Array, PrivacyLoss
from panprivacy.formats.errors import FieldError

SMALLEST_EPSILON = 1e-9
"""Below it, the order of the divergences would exceed floating-point precision."""

_LOST = 1e-12
_ROUNDING = 1 + 1e-9
"""What sums over some thousand points may lose to rounding, many times over."""


@dataclass(frozen=True)
class Cost:
    """What one release takes of a filter.

    Attributes:
        divergence: Rényi divergence at the filter's order, in nats; the larger of both directions; infinite
            for a release that hides nothing.
        failing: probability of outcomes that give a device away, which the divergence leaves out.
    """

    divergence: float
    failing: float


@dataclass(frozen=True)
class PrivacyFilter:
    """The rule for a budget (ε, δ).

    Args:
        epsilon: ε of everything admitted, in nats; from `SMALLEST_EPSILON`.
        delta: δ of everything admitted, below 1. One half is for what may fail altogether, the other for
            turning a divergence into ε.

    Raises:
        FieldError: ε or δ is outside its range.
    """

    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        require_epsilon(self.epsilon)
        if self.epsilon < SMALLEST_EPSILON:
            raise FieldError("epsilon", f"must be at least {SMALLEST_EPSILON:g}, not {self.epsilon!r}")
        require_delta(self.delta)

    @property
    def failing(self) -> float:
        """What all releases together may fail with."""
        return self.delta / 2

    @cached_property
    def order(self) -> float:
        """α > 1, a function of the budget alone, near the order at which the bound on a Gaussian loss is best
        (Bun & Steinke 2016, Proposition 1.3). It is the order that admits most Gaussian releases."""
        needed = -math.log(self.delta / 2)
        # √ρ = √(ε + ln 1/δ) − √(ln 1/δ), without cancellation.
        root = self.epsilon / (math.sqrt(self.epsilon + needed) + math.sqrt(needed))
        orders = [1 + part / 32 * math.sqrt(needed) / root for part in range(16, 33)]
        return max(orders, key=lambda order: self._capacity(order) / order)

    @property
    def capacity(self) -> float:
        """The largest sum of divergences at `order` with which ε holds at δ/2, in nats."""
        return self._capacity(self.order)

    def _capacity(self, order: float) -> float:
        """Canonne, Kamath & Steinke 2020, Proposition 12, solved for the divergence."""
        above = order - 1
        conversion = math.log1p(1 / above) + (math.log(self.delta / 2) + math.log(order)) / above
        return max(0.0, self.epsilon + conversion)

    def cost(self, event: PrivacyEvent) -> Cost:
        """What one release costs, from above."""
        return _cost(event, self.order)

    def shares(self, events: Iterable[PrivacyEvent]) -> tuple[float, float]:
        """What these releases take, in any order: parts of the capacity, and of δ/2 for what may fail
        altogether. More than 1 of either is too much."""
        costs = [self.cost(event) for event in events]
        divergence = math.fsum(cost.divergence for cost in costs)
        failing = math.fsum(cost.failing for cost in costs)
        if divergence > 0 and self.capacity == 0:
            return math.inf, failing / self.failing
        return (divergence / self.capacity if divergence else 0.0), failing / self.failing

    def share(self, events: Iterable[PrivacyEvent]) -> float:
        """The part of the budget that these releases take: the larger one of both."""
        return max(self.shares(events))


@lru_cache(maxsize=1024)  # a ledger asks again and again for the same events
def _cost(event: PrivacyEvent, order: float) -> Cost:
    # What may fail altogether is cut off (Whitehouse et al. 2023, Theorem 1); divergences of the rest add up.
    divergence = failing = 0.0
    for (forward, backward), times in parts_of(event):
        fails = max(forward.infinite, backward.infinite)
        if fails >= 1:
            return Cost(math.inf, 1.0)
        one = max(_divergence(loss, order) for loss in (forward, backward))
        divergence += times * max(0.0, one) * _ROUNDING
        failing += times * fails
    return Cost(divergence, min(1.0, failing))


def _divergence(loss: PrivacyLoss, order: float) -> float:
    """The divergence of P from Q over finite losses, each scaled up to a distribution."""
    kept = loss.masses > 0
    losses, logs = loss.losses[kept], np.log(loss.masses[kept])
    under_p = math.log1p(-loss.infinite)
    under_q = min(0.0, _log_sum(logs - losses) + _LOST)
    return (_log_sum((order - 1) * losses + logs) - order * under_p) / (order - 1) + under_q


def _log_sum(exponents: Array) -> float:
    top = float(exponents.max())
    return top + math.log(float(np.exp(exponents - top).sum()))

"""A sum of reports; each was drawn again until it was one that servers accept."""

import math
from dataclasses import dataclass
from typing import ClassVar

from panprivacy.accounting.epsilon_delta import EpsilonDelta
from panprivacy.accounting.interface import DEVICES, NestedEvent, require_epsilon
from panprivacy.formats.parameters import described

_EDGES = 4
"""This number of values in an interval of length 1 represent the ε's below them in e^ε."""


@dataclass(frozen=True, kw_only=True)
class RejectionSampling(NestedEvent):
    """`event`, the sum of n independent reports, if each device draws until its report is taken.

    Derivation. Let P and Q be the outcomes of `event` for two neighbours, P' and Q' those if all n reports
    are taken (E). One draw is taken with probability 1 − t whatever a device's value, or, for a neighbour
    that is a reference and no value, with more than that. So P(E) ≥ 1 − n·t, Q(not E) ≤ n·t, and
    |P(E) − Q(E)| ≤ t. For every set S of outcomes

        P(E)·P'(S) ≤ P(S) ≤ e^ε·Q(S) + δ(ε) ≤ e^ε·(Q(E)·Q'(S) + n·t) + δ(ε),

    so that P' and Q' have at most δ'(ε) = (δ(ε) + e^ε·(n + 1)·t)/(1 − n·t). What holds at an ε holds above
    it. So, for any c, δ(min(ε, c)) with e^c holds at ε, and does not increase with it; the least over many c
    is taken. A second bound holds for every device alone, if a report is accepted with the same probability
    for all values. Then drawing again multiplies all probabilities by the same factor, and the report stays
    `largest_epsilon`-private.

    Attributes:
        event: one over n devices, as if every first draw were taken.
        n: its number of devices.
        probability: t, with which a draw is not taken, at most.
        largest_epsilon: ε of one report, drawn again if needed, alone.
    """

    kind: ClassVar[str] = "redrawn"

    n: int = described(**DEVICES)
    probability: float = described(
        label="Probability", help="That a report is drawn again, at most.", minimum=0, maximum=1
    )
    largest_epsilon: float = described(
        label="Local privacy loss", help="ε of one report by itself.", minimum=1e-12, maximum=100
    )

    @property
    def largest_loss(self) -> float:
        return self.largest_epsilon

    @property
    def method(self) -> str:
        return (
            f"{self.event.method}; with what drawing reports again costs of δ, at most (1 + e^ε)·n·Pr[again]"
        )

    def over(self, n: int) -> "RejectionSampling":
        return RejectionSampling(
            event=self.event.over(n),
            n=n,
            probability=self.probability,
            largest_epsilon=self.largest_epsilon,
        )

    def delta(self, epsilon: float) -> float:
        require_epsilon(epsilon)
        if epsilon >= self.largest_epsilon:
            return 0.0
        alone = EpsilonDelta(epsilon_given=self.largest_epsilon).delta(epsilon)
        if self.n * self.probability >= 1:
            return alone
        # The least of δ(c) with e^c over edges c up to ε, from above downwards.
        above = math.floor(epsilon * _EDGES) + 1
        found = self._bound(epsilon, above)
        for edge in range(above - 1, 0, -1):
            # Further down, the event's δ alone is at least this.
            if self.event.delta_roughly(edge / _EDGES) >= found:
                break
            found = min(found, self._bound(edge / _EDGES, edge))
        return min(alone, found)

    def _bound(self, epsilon: float, edge: int) -> float:
        """δ'(ε) with e^ε at the edge of that number, not below ε; rounded up."""
        # (δ(ε) + e^ε·(n + 1)·t)/(1 − n·t)
        beside = (self.n + 1) * self.probability
        beside *= math.exp(min(edge / _EDGES, self.largest_epsilon))
        found = (self.event.delta_roughly(epsilon) + beside) / (1 - self.n * self.probability)
        return min(1.0, found * (1 + 1e-14))

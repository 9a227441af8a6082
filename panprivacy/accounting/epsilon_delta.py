"""Numbers that are given rather than computed, as events: a guarantee (ε, δ), and a part of δ set aside."""

import math
from dataclasses import dataclass
from typing import ClassVar

from panprivacy.accounting.guarantees import Relation
from panprivacy.accounting.interface import NestedEvent, PrivacyEvent, require_delta, require_epsilon
from panprivacy.formats.errors import FieldError
from panprivacy.formats.parameters import described


@dataclass(frozen=True, kw_only=True)
class EpsilonDelta(PrivacyEvent):
    """Whatever is (ε, δ)-private: the curve of the worst mechanism that is.

    The dominating mechanism gives the input away with probability δ, and otherwise answers by randomized
    response with ε. Every (ε, δ)-private mechanism is a post-processing of it (Kairouz, Oh & Viswanath 2015,
    Theorem 3.1). Because post-processing keeps a guarantee, the event also covers everything computed from
    the output.
    """

    kind: ClassVar[str] = "given"
    any_devices = True
    proved = True
    method = "as given; the worst mechanism with this guarantee (Kairouz, Oh & Viswanath 2015, Theorem 3.1)"

    epsilon_given: float = described(
        label="Privacy loss (ε)", help="ε of the guarantee, in nats.", minimum=0, maximum=100
    )
    delta_given: float = described(
        label="Failure probability (δ)",
        help="δ of the guarantee; 0 for pure privacy.",
        minimum=0,
        maximum=1,
        default=0.0,
    )
    relation: str = described(
        label="Neighbouring relation",
        help="Which two inputs the guarantee makes hard to tell apart.",
        choices=tuple(relation.value for relation in Relation),
        default=Relation.REPLACE.value,
    )

    @property
    def neighbours(self) -> Relation:
        return Relation(self.relation)

    def delta(self, epsilon: float) -> float:
        require_epsilon(epsilon)
        if epsilon >= self.epsilon_given:
            return self.delta_given
        # The part that randomized response adds, (e^ε₀ − e^ε)/(e^ε₀ + 1), written without overflow.
        beyond = -math.expm1(epsilon - self.epsilon_given) / (1 + math.exp(-self.epsilon_given))
        return min(1.0, (self.delta_given + (1 - self.delta_given) * beyond) * (1 + 1e-15))

    @property
    def size_fields(self) -> tuple[()]:
        """None of them: the guarantee holds for any number of devices."""
        return ()

    def epsilon(self, delta: float) -> float:
        """As for every event; FieldError if δ is below the given one."""
        require_delta(delta)
        if delta < self.delta_given:
            raise FieldError(
                "delta", f"must be at least {self.delta_given!r}, that of the guarantee given, not {delta!r}"
            )
        return min(super().epsilon(delta), self.epsilon_given)


@dataclass(frozen=True, kw_only=True)
class AdditionalDelta(NestedEvent):
    """`event`, with a small part of δ for failures that its curve does not know of.

    Two outputs within δ(ε) of each other, each of them replaced by something else with at most a
    probability β, are within δ(ε) + β·(1 + e^ε). What is to be given is that last term, for the largest
    ε in question.
    """

    kind: ClassVar[str] = "failing"

    probability: float = described(
        label="Probability", help="What failures cost of δ, at every ε in question.", minimum=0, maximum=1
    )

    @property
    def largest_loss(self) -> float:
        return math.inf

    @property
    def method(self) -> str:
        return self.event.method

    def delta(self, epsilon: float) -> float:
        return min(1.0, self.event.delta(epsilon) + self.probability)

    def delta_bound(self, epsilon: float) -> float:
        return min(1.0, self.event.delta_bound(epsilon) + self.probability)

    def over(self, n: int) -> "AdditionalDelta":
        return AdditionalDelta(event=self.event.over(n), probability=self.probability)

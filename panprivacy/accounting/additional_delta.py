"""An event that may also fail in ways that its own curve does not include."""

import math
from dataclasses import dataclass
from typing import ClassVar

from panprivacy.accounting.nested_event import NestedEvent
from panprivacy.formats.parameters import described


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

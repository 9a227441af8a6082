"""The counter that needs no secret, and so gives no encryption."""

import random
from collections.abc import Sequence

from panprivacy.statistics.events.randomized_response import RandomizedResponse
from research.theory.counters import Counter


class RandomizedCounter(Counter[int, None, int]):
    """A sum of randomized responses to every bit (LPP Lemma 3.2): ε-locally pan-private without a secret."""

    def __init__(self, steps: int, epsilon: float) -> None:
        self._steps = steps
        self._response = RandomizedResponse(epsilon)

    @property
    def steps(self) -> int:
        return self._steps

    def initialize(self, random_source: random.Random) -> tuple[int, None]:  # nothing is drawn
        return 0, None

    def step(self, state: int, event: bool, step: int, random_source: random.Random) -> int:
        return state + self._response.respond(int(event), random_source)

    def output(self, state: int, random_source: random.Random) -> int:
        return state

    def estimate(self, servers: Sequence[None], outputs: Sequence[int]) -> float:
        # Each of the n·T responses is debiased for itself.
        return self._response.debiased(sum(outputs), len(outputs) * self._steps)

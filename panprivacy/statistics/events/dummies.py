"""Empty reports, which hide how many devices take part (SAA section 4.6).

A device sends a report with probability r = q + (1 − q)·q'. It tosses that coin once, ahead of its first
step, and keeps the same state whatever the outcome. When it makes its report, a second coin decides whether
it counts (with probability q/r) or is a dummy: zeros, through the same randomizer. So nothing distinguishes a
dummy from
another report: neither the state nor what is sent. A report counts with probability q, the same as without
dummies.
"""

import random
from dataclasses import dataclass
from typing import Any, Self

from panprivacy.accounting.hidden_count import (
    LARGEST_DUMMY_RATE,
    TAIL_SHARE,
    dummies_delta,
    dummies_epsilon,
    least_dummy_rate,
)
from panprivacy.formats.errors import FieldError
from panprivacy.formats.parameters import DELTA, EPSILON, Description

_SIDES = 2**64

_EPSILON = Description(**{**EPSILON, "help": "Of the published number of reports."})
_DELTA = Description(**{**DELTA, "help": "Of the published number of reports."})
_POPULATION = Description(
    label="Population size",
    help="Devices that surely hear of the recipe, follow the protocol and can send.",
    minimum=1,
    maximum=10_000_000_000,
)
_RATE = Description(
    label="Dummy rate",
    help="Probability with which a device that does not take part sends a dummy.",
    minimum=0,
    maximum=LARGEST_DUMMY_RATE,
)

_DESCRIBED: dict[str, tuple[Description, type]] = {
    "epsilon": (_EPSILON, float),
    "delta": (_DELTA, float),
    "population_size": (_POPULATION, int),
    "dummy_rate": (_RATE, float),
}


@dataclass(frozen=True, kw_only=True)
class Dummies:
    """What hides the number of reports. FieldError naming a field that is out of range.

    Attributes:
        epsilon, delta: the guarantee that hides one report more or less.
        population_size: devices that receive the recipe, follow the protocol and can send; at least.
        dummy_rate: q', the probability with which a device that does not take part sends a dummy.
    """

    epsilon: float
    delta: float
    population_size: int
    dummy_rate: float

    def __post_init__(self) -> None:
        for name, (description, kind) in _DESCRIBED.items():
            checked = description.check(f"hidden_count.{name}", kind, getattr(self, name))
            object.__setattr__(self, name, checked)

    @staticmethod
    def require_target(epsilon: Any, delta: Any) -> None:
        """FieldError naming the value that is out of range."""
        _EPSILON.check("hidden_count.epsilon", float, epsilon)
        _DELTA.check("hidden_count.delta", float, delta)

    @classmethod
    def calibrated(cls, *, epsilon: float, delta: float, population_size: int, sampling_rate: float) -> Self:
        """With the least rate that keeps the target (`least_dummy_rate`); FieldError if none does."""
        rate = least_dummy_rate(population_size, sampling_rate, epsilon, delta)
        return cls(epsilon=epsilon, delta=delta, population_size=population_size, dummy_rate=rate)

    def require_promise(self, sampling_rate: float) -> None:
        """FieldError unless the rate keeps the target for every population of at least the stated size."""
        found = dummies_delta(
            self.population_size, sampling_rate, self.dummy_rate, self.epsilon, tail=self.delta * TAIL_SHARE
        )
        if found > self.delta:
            raise FieldError(
                "hidden_count",
                f"is not kept: at ε = {self.epsilon:g} the number of reports has δ = {found:.3g}",
            )

    def reporting_rate(self, sampling_rate: float) -> float:
        """Probability r that a device sends anything."""
        return sampling_rate + (1 - sampling_rate) * self.dummy_rate

    def is_dummy(self, sampling_rate: float, random_source: random.Random) -> bool:
        """Toss the coin of one report, with 64 bits."""
        counts = int(_SIDES * (sampling_rate / self.reporting_rate(sampling_rate)))
        return random_source.getrandbits(64) >= counts

    def epsilon_of(self, population: int, sampling_rate: float) -> float:
        """ε at δ if only this number of devices follow the protocol; infinity if nothing is hidden."""
        return dummies_epsilon(population, sampling_rate, self.dummy_rate, self.delta)

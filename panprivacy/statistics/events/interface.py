"""A mechanism is one class with three parts: for the device, the server and the accountant.

A device's stream is one bit per time step t = 1..T (several events within a step
are one bit). Its *count* is the number of steps with an event.
"""

import copy
import random
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Self, TypeVar

from panprivacy.encryption.interface import Ciphertext, PublicKey
from panprivacy.formats.parameters import Parameters
from panprivacy.statistics.device_input import DeviceInput
from panprivacy.statistics.events.cohort import CohortStatistic
from panprivacy.statistics.events.dummies import Dummies

P = TypeVar("P", bound=Parameters)

State = tuple[Ciphertext, ...]
"""What a device keeps between steps: ciphertexts only."""

Report = tuple[Ciphertext, ...]
"""The one report that a device sends."""


class Mechanism(CohortStatistic[P]):
    """A statistic of local pan-privacy. If `provable`, every value of a report is 0 or 1, and the device adds
    up no ciphertexts."""

    device_input = DeviceInput.EVENTS

    parameters_class: ClassVar[type[Parameters]]

    takes_dummies: ClassVar[bool] = False
    """Whether a report of zeros, through the randomizer, leaves the average of the estimate unchanged."""

    dummies: Dummies | None = None
    """The dummies that hide the number of reports; None if the exact number is public."""

    def with_dummies(self, dummies: Dummies | None) -> Self:
        """The same with these; TypeError if they would change the answer."""
        if dummies is not None and not self.takes_dummies:
            raise TypeError(f"dummies would change {self.statistic}")
        made = copy.copy(self)
        made.dummies = dummies
        return made

    def having(self, parameters: P) -> Self:
        return super().having(parameters).with_dummies(self.dummies)

    @property
    def reporting_rate(self) -> float:
        rate = self.parameters.sampling_rate
        return rate if self.dummies is None else self.dummies.reporting_rate(rate)

    # For the device ------------------------------------------------------------

    def _is_dummy(self, random_source: random.Random) -> bool:
        """Whether the report that is being made is a dummy; no coin is tossed if there are none."""
        if self.dummies is None:
            return False
        return self.dummies.is_dummy(self.parameters.sampling_rate, random_source)

    def in_segment(self, segment: str | None) -> Self:  # noqa: ARG002  # for recipes that ask by segment
        """The same for a device of this segment; None for a device in none of the recipe's segments."""
        return self

    def require_step(self, step: int) -> None:
        """ValueError unless `step` is one of 1..T."""
        if not 1 <= step <= self.parameters.steps:
            raise ValueError(f"step must lie in 1..{self.parameters.steps}, not {step}")

    def require_count(self, count: int, step: int) -> None:
        """ValueError unless a device can have had `count` events after `step` steps (0..T)."""
        if not 0 <= count <= step <= self.parameters.steps:
            raise ValueError(
                f"count {count} after step {step} is impossible: 0 ≤ count ≤ step ≤ {self.parameters.steps}"
            )

    @property
    @abstractmethod
    def state_ciphertexts(self) -> int:
        """Number of ciphertexts in the state, at every step the same."""

    @abstractmethod
    def start(self, public_key: PublicKey, random_source: random.Random) -> State:
        """The initial state."""

    @abstractmethod
    def step(
        self, public_key: PublicKey, state: State, event: bool, step: int, random_source: random.Random
    ) -> State:
        """The state after time step `step` (1..T). Every ciphertext changes, event or not.

        Operations and random bits drawn depend on `step`, not on `event`.
        """

    @abstractmethod
    def report(self, public_key: PublicKey, state: State, random_source: random.Random) -> Report:
        """The one message, from the state after step T. Consumes randomness for the coin and Φ."""

    @abstractmethod
    def state_of_count(
        self, public_key: PublicKey, count: int, step: int, random_source: random.Random
    ) -> State:
        """A state distributed as after `step` steps, `count` of them with an event (lazy devices)."""

    @abstractmethod
    def report_of_count(self, public_key: PublicKey, count: int, random_source: random.Random) -> Report:
        """A report distributed as that of a device with `count` events in T steps (lazy devices)."""

    @abstractmethod
    def truth(self, devices_by_count: Mapping[Any, int]) -> tuple[float, ...]:
        """The exact answer, for simulations: `devices_by_count[c]` devices had count c (0..T)."""

    def segment_truths(self, devices_by_count: Mapping[Any, int]) -> list[dict[str, Any]]:  # noqa: ARG002  # for those that ask by segment
        """The same for each segment: `label`, `devices` and `answers`; empty if there are none."""
        return []

    # For the accountant --------------------------------------------------------

    def require_promise(self) -> None:
        if self.dummies is not None:
            self.dummies.require_promise(self.parameters.sampling_rate)
        super().require_promise()

"""A mechanism is one class with three parts: for the device, the server and the accountant.

A device's stream is, for each time step t = 1..T, which of the recipe's events happened in it (several of one
name within a step are one). Its *count* is the number of steps with an event, or what takes its place: the
state of an automaton (`regular`).
"""

import copy
import random
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Self, TypeVar

from panprivacy.accounting.guarantees import Guarantee
from panprivacy.encryption.interface import Ciphertext, PublicKey
from panprivacy.formats.parameters import Parameters
from panprivacy.statistics.device_input import DeviceInput
from panprivacy.statistics.events.assumptions import pan_privacy
from panprivacy.statistics.events.cohort import CohortStatistic
from panprivacy.statistics.events.combined_result import hidden_count_guarantees
from panprivacy.statistics.events.dummies import Dummies

P = TypeVar("P", bound=Parameters)

State = tuple[Ciphertext, ...]
"""What a device keeps between steps: ciphertexts only."""

Report = tuple[Ciphertext, ...]
"""The one report that a device sends."""


class EventDevice(ABC):
    """What a device does: it keeps ciphertexts over T steps, and sends one report."""

    @property
    @abstractmethod
    def state_ciphertexts(self) -> int:
        """Number of ciphertexts in the state, at every step the same."""

    @abstractmethod
    def start(self, public_key: PublicKey, random_source: random.Random) -> State:
        """The initial state."""

    @abstractmethod
    def step(
        self, public_key: PublicKey, state: State, event: int, step: int, random_source: random.Random
    ) -> State:
        """The state after time step `step` (1..T). Every ciphertext changes, event or not.

        Operations and random bits drawn depend on `step`, not on `event`.

        Args:
            event: whether it happened; with several names, bit i is 1 if the i-th did.
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


class Mechanism(EventDevice, CohortStatistic[P]):
    """A statistic of local pan-privacy. If `provable`, every value of a report is 0 or 1, and the device adds
    up no ciphertexts."""

    device_input = DeviceInput.EVENTS

    parameters_class: ClassVar[type[Parameters]]

    theorem: ClassVar[str]
    """The source of its guarantee against intruders on the device."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the events; empty if there is one, which the recipe may name."""
        return ()

    def outcome(self, events: Mapping[int, int]) -> int:
        """A device's count after T steps.

        Args:
            events: step → what happened in it, as in `step`; steps without an event may be missing.
        """
        return sum(1 for happened in events.values() if happened)

    @abstractmethod
    def truth(self, devices_by_count: Mapping[Any, int]) -> tuple[float, ...]:
        """The exact answer, for simulations: `devices_by_count[c]` devices had count c (0..T)."""

    def open_guarantees(self) -> tuple[Guarantee, ...]:
        return (*super().open_guarantees(), pan_privacy(self.theorem))


class MaskedMechanism(Mechanism[P]):
    """A mechanism whose estimate keeps its average if a report of zeros, through the randomizer, is added:
    dummies can hide the number of reports."""

    dummy_obstacle = ""

    dummies: Dummies | None = None
    """The dummies that hide the number of reports; None if the exact number is public."""

    def with_dummies(self, dummies: Dummies | None) -> Self:
        """The same with these."""
        made = copy.copy(self)
        made.dummies = dummies
        return made

    def having(self, parameters: P) -> Self:
        return super().having(parameters).with_dummies(self.dummies)

    @property
    def reporting_rate(self) -> float:
        rate = self.parameters.sampling_rate
        return rate if self.dummies is None else self.dummies.reporting_rate(rate)

    def _is_dummy(self, random_source: random.Random) -> bool:
        """Whether the report that is being made is a dummy; no coin is tossed if there are none."""
        if self.dummies is None:
            return False
        return self.dummies.is_dummy(self.parameters.sampling_rate, random_source)

    def require_promise(self) -> None:
        if self.dummies is not None:
            self.dummies.require_promise(self.parameters.sampling_rate)
        super().require_promise()

    def open_guarantees(self) -> tuple[Guarantee, ...]:
        stated = super().open_guarantees()
        if self.dummies is None:
            return stated
        *others, pan = stated
        return (*others, *hidden_count_guarantees(self.dummies, self.parameters.sampling_rate), pan)


def require_step(parameters: Parameters, step: int) -> None:
    """ValueError unless `step` is one of 1..T."""
    if not 1 <= step <= parameters.steps:
        raise ValueError(f"step must lie in 1..{parameters.steps}, not {step}")


def require_count(parameters: Parameters, count: int, step: int) -> None:
    """ValueError unless a device can have had `count` events after `step` steps (0..T)."""
    if not 0 <= count <= step <= parameters.steps:
        raise ValueError(
            f"count {count} after step {step} is impossible: 0 ≤ count ≤ step ≤ {parameters.steps}"
        )

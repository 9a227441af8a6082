"""A mechanism is one class with three faces: the device's, the server's, the accountant's.

A device's stream is one bit per time step t = 1..T (several events within a step
are one bit). Its *count* is the number of steps with an event.
"""

import random
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Self, TypeVar

from panprivacy.accounting.interface import PrivacyEvent
from panprivacy.accounting.sampling import Sampled
from panprivacy.device_input import DeviceInput
from panprivacy.encryption.interface import Ciphertext, PublicKey
from panprivacy.errors import FieldError
from panprivacy.estimate import normal_factor
from panprivacy.mechanisms.combined_result import epsilon_at, honest_devices, population_of
from panprivacy.parameters import Parameters
from panprivacy.shown import plain
from panprivacy.statistic import ReportStatistic

P = TypeVar("P", bound=Parameters)

State = tuple[Ciphertext, ...]
"""What a device keeps between steps: ciphertexts only."""

Report = tuple[Ciphertext, ...]
"""What a device sends, once."""


class Mechanism(ReportStatistic[P]):
    """A statistic of local pan-privacy. Where `values_are_bits`, the device adds up no ciphertexts."""

    device_input = DeviceInput.EVENTS

    parameters_class: ClassVar[type[Parameters]]

    segments: tuple[str, ...] = ()
    """Labels by which it is asked; empty where by none."""

    @property
    def cohort_size(self) -> int:
        return self.parameters.cohort_size

    # The device's face ---------------------------------------------------------

    def in_segment(self, segment: str | None) -> Self:  # noqa: ARG002  # for recipes that ask by segment
        """The same for a device of this segment; None for one of no segment that is asked about."""
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
        """The state before the first step."""

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

    def segment_truths(self, devices_by_count: Mapping[Any, int]) -> list[dict[str, Any]]:  # noqa: ARG002
        """The same for each segment: `label`, `devices` and `answers`; empty where there are none."""
        return []

    # The accountant's face -----------------------------------------------------

    def require_population(self, population: int) -> None:
        """ValueError unless there is a device to ask."""
        if population < 1:
            raise ValueError(f"population must be at least 1, not {population}")

    def require_promise(self) -> None:
        """FieldError where the parameters do not keep what the recipe states.

        Devices call it before they take part, as nobody else can hold a server to it.
        """
        target = self.parameters.aggregator_epsilon
        if target is None:
            return
        event = self.aggregator_event()
        if event.delta(target) > self.parameters.delta:
            reached = epsilon_at(event, self.parameters.delta)
            raise FieldError(
                "aggregator_epsilon",
                f"{target:g} is not met: with these parameters the published result has "
                f"{reached:.4g} (proved, under replacement, δ = {plain(self.parameters.delta)}, "
                f"cohort size {self.parameters.cohort_size:,})",
            )

    def aggregator_event(self, dishonest_fraction: float = 0.0) -> PrivacyEvent:
        """The release of one full cohort, against observers who read only it and may know who took part.

        Under replacement, and proved: a budget is charged with it.

        Args:
            dishonest_fraction: the part of the cohort that colludes with the observer, below 1.
        """
        return self._release(honest_devices(self.parameters.cohort_size, dishonest_fraction))

    def sampled_event(self) -> PrivacyEvent | None:
        """The same release, proved, against observers who do not know who took part; None where all do."""
        parameters = self.parameters
        if parameters.sampling_rate == 1:
            return None
        return self._sampled(population_of(parameters.cohort_size, parameters.sampling_rate))

    @abstractmethod
    def _release(self, n: int) -> PrivacyEvent:
        """The release over n honest devices, proved, under replacement."""

    def _sampled(self, n: int) -> PrivacyEvent:
        """The release over those who take part of n honest devices that heard of it, proved."""
        return Sampled(event=self._release(n), n=n, sampling_rate=self.parameters.sampling_rate)

    @abstractmethod
    def expected_standard_error(self, population: int) -> float:
        """The largest standard error to expect, before anything is published.

        Args:
            population: number of devices that hear of the recipe; about
                population × sampling rate of them report.
        """

    def expected_margin(self, population: int, failure_probability: float) -> float:
        """About how far the stated interval will reach from the estimate, of all values together.

        By the normal approximation, unless the statistic knows better.

        Args:
            population: as of `expected_standard_error`.
            failure_probability: with which any of the truths lies further away.
        """
        values = 1 if self.scalar else len(self.labels)
        return normal_factor(failure_probability, values) * self.expected_standard_error(population)

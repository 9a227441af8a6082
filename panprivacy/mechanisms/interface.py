"""A mechanism is one class with three faces: the device's, the server's, the accountant's.

A device's stream is one bit per time step t = 1..T (several events within a step
are one bit). Its *count* is the number of steps with an event.
"""

import random
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Generic, TypeVar

from panprivacy.accounting.guarantees import Guarantee
from panprivacy.accounting.interface import PrivacyEvent
from panprivacy.accounting.sampling import Sampled
from panprivacy.encryption.interface import Ciphertext, PublicKey
from panprivacy.errors import FieldError
from panprivacy.mechanisms.combined_result import epsilon_at, honest_devices, population_of
from panprivacy.parameters import Parameters
from panprivacy.trust import Trust

P = TypeVar("P", bound=Parameters)

State = tuple[Ciphertext, ...]
"""What a device keeps between steps: ciphertexts only."""

Report = tuple[Ciphertext, ...]
"""What a device sends, once."""


class InvalidReportError(ValueError):
    """Decrypted values that no honest device sends.

    Attributes:
        reason: machine-readable, e.g. `value_out_of_range`.
    """

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


@dataclass(frozen=True)
class Estimate:
    """A debiased estimate. Every tuple has one entry per number the statistic yields.

    Attributes:
        values: unbiased estimates; may be negative.
        standard_errors: of `values`, sampling of devices included.
        standard_error_note: what the standard errors include, and whether they are bounds.
        projection: the closest valid answer (see the mechanism), labelled as such wherever shown.
    """

    values: tuple[float, ...]
    standard_errors: tuple[float, ...]
    standard_error_note: str
    projection: tuple[float, ...]


class Mechanism(ABC, Generic[P]):
    """One statistic with its parameters."""

    statistic: ClassVar[str]
    """Registered name, e.g. `count_nonzero`."""

    title: ClassVar[str]
    """For people, e.g. "Devices with at least one event"."""

    description: ClassVar[str]
    """One or two sentences for the analyst who chooses among statistics."""

    unit: ClassVar[str]
    """What one unit of the estimate is: `devices` or `events per device`."""

    counts_devices: ClassVar[bool]
    """Whether the estimates are numbers of devices, so that each is a share of the population."""

    trusts: ClassVar[tuple[Trust, ...]] = (Trust.SINGLE_SERVER,)
    """The trust models under which it can be asked. Under `TWO_SERVER` every value of a report is 0 or 1,
    which the servers can check without reading it, and the device adds none of its ciphertexts up."""

    parameters_class: ClassVar[type[Parameters]]

    scalar: ClassVar[bool] = True
    """Whether the estimate is one number (else a list, labelled by `labels`)."""

    def __init__(self, parameters: P) -> None:
        self.parameters = parameters

    # The device's face ---------------------------------------------------------

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
        """A state distributed as after `step` steps of which `count` had an event (lazy devices)."""

    @abstractmethod
    def report_of_count(self, public_key: PublicKey, count: int, random_source: random.Random) -> Report:
        """A report distributed as that of a device with `count` events in T steps (lazy devices)."""

    # The server's face ---------------------------------------------------------

    @property
    @abstractmethod
    def report_ciphertexts(self) -> int:
        """Number of ciphertexts in one report."""

    @property
    @abstractmethod
    def allowed_values(self) -> range:
        """Plaintexts that a ciphertext of a report may have."""

    @property
    @abstractmethod
    def contribution_length(self) -> int:
        """Length of the vectors that are added up."""

    @abstractmethod
    def contribution(self, values: Sequence[int]) -> tuple[int, ...]:
        """The decrypted values of one report as a vector to be added to others.

        Raises InvalidReportError where `values` are individually allowed but jointly impossible.
        """

    @abstractmethod
    def estimate(self, total: Sequence[int], reports: int) -> Estimate:
        """Debias the sum of `reports` contributions (≥ 1) to an estimate about the whole population."""

    @property
    @abstractmethod
    def labels(self) -> tuple[str, ...]:
        """One label per value of the estimate."""

    @abstractmethod
    def truth(self, devices_by_count: Mapping[int, int]) -> tuple[float, ...]:
        """The exact answer, for simulations: `devices_by_count[c]` devices had count c (0..T)."""

    def require_values(self, values: Sequence[int]) -> None:
        """InvalidReportError unless `values` has one allowed value for each ciphertext of a report."""
        if len(values) != self.report_ciphertexts:
            raise InvalidReportError(
                "wrong_length", f"a report has {self.report_ciphertexts} values, not {len(values)}"
            )
        for value in values:
            if value not in self.allowed_values:
                allowed = self.allowed_values
                raise InvalidReportError(
                    "value_out_of_range", f"a value must lie in {allowed[0]}..{allowed[-1]}, not {value}"
                )

    def require_total(self, total: Sequence[int], reports: int) -> None:
        """ValueError unless `total` can be a sum of `reports` ≥ 1 contributions."""
        if len(total) != self.contribution_length or reports < 1:
            raise ValueError(
                f"a total has {self.contribution_length} entries from at least 1 report, "
                f"not {len(total)} from {reports}"
            )

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
                f"{target:g} is not met: whoever sees only the combined result can be held to "
                f"{reached:.4g} (proved, under replacement, δ = {self.parameters.delta:g}, "
                f"cohort size {self.parameters.cohort_size:,})",
            )

    def aggregator_event(self, dishonest_fraction: float = 0.0) -> PrivacyEvent:
        """The release of one full cohort, for whoever reads nothing else and may know who took part.

        Under replacement, and proved: what a budget is charged with.

        Args:
            dishonest_fraction: the part of the cohort that colludes with the observer, below 1.
        """
        return self._release(honest_devices(self.parameters.cohort_size, dishonest_fraction))

    def sampled_event(self) -> PrivacyEvent | None:
        """The same release for whoever does not know who took part, proved; None where all devices do."""
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
    def local_guarantees(self) -> tuple[Guarantee, ...]:
        """Those among `guarantees` that hold against readers of one report."""

    @abstractmethod
    def guarantees(self, *, sampled: bool = True) -> tuple[Guarantee, ...]:
        """Every guarantee given, and those not computed with `epsilon` and `delta` None.

        Args:
            sampled: whether to compute those that count on nobody knowing who took part, which takes
                seconds where a composition is sampled; the others take at most tenths.
        """

    @abstractmethod
    def expected_standard_error(self, population: int) -> float:
        """The largest standard error to expect, before anything is published.

        Args:
            population: number of devices that hear of the recipe; about
                population × sampling rate of them report.
        """

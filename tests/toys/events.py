"""A statistic of devices with events, as a programmer adds one: this file, and a line of `MECHANISMS`."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from panprivacy.accounting.guarantees import Guarantee, Model, Relation
from panprivacy.accounting.interface import PrivacyEvent
from panprivacy.accounting.randomized_response_sum import RandomizedResponseSum
from panprivacy.encryption.interface import PublicKey
from panprivacy.formats.parameters import Parameters, described
from panprivacy.statistics.events.assumptions import FOLLOWS_PROTOCOL
from panprivacy.statistics.events.cohort import require_population
from panprivacy.statistics.events.interface import Mechanism, Report, State
from panprivacy.statistics.events.randomized_response import RandomizedResponse
from panprivacy.statistics.intervals.estimate import Estimate


@dataclass(frozen=True, kw_only=True)
class ToyEventsParameters(Parameters):
    counted: str = described(
        label="Devices counted",
        help="Those on which it happened, or all others.",
        choices=("touched", "quiet"),
        default="touched",
    )


class ToyEvents(Mechanism[ToyEventsParameters]):
    """One encrypted bit through randomized response."""

    statistic = "toy_events"
    title = "Toys that were played with"
    description = "Estimates how many toys were played with, or never."
    unit = "toys"
    counts_devices = True
    provable = True
    theorem = "The box of toys"
    parameters_class = ToyEventsParameters
    state_ciphertexts = 1
    contribution_length = 1
    allowed_values = range(2)
    labels = ("toys",)

    def __init__(self, parameters: ToyEventsParameters) -> None:
        super().__init__(parameters)
        self.response = RandomizedResponse(parameters.epsilon)

    def start(self, public_key: PublicKey, random_source: random.Random) -> State:
        return (public_key.encrypt(0, random_source),)

    def step(
        self, public_key: PublicKey, state: State, event: bool, step: int, random_source: random.Random
    ) -> State:
        return (public_key.replace_or_rerandomize(event, 1, state[0], random_source, rerandomizations=step),)

    def report(self, public_key: PublicKey, state: State, random_source: random.Random) -> Report:
        times = self.parameters.steps + 1
        return (self.response.respond_encrypted(public_key, state[0], times, random_source),)

    def state_of_count(
        self, public_key: PublicKey, count: int, step: int, random_source: random.Random
    ) -> State:
        return (public_key.encrypt(int(count > 0), random_source, rerandomizations=step),)

    def report_of_count(self, public_key: PublicKey, count: int, random_source: random.Random) -> Report:
        bit = self.response.respond(int(count > 0), random_source)
        return (public_key.encrypt(bit, random_source, rerandomizations=self.parameters.steps + 1),)

    def debiased(self, total: Sequence[int], reports: int) -> tuple[float, ...]:
        touched = self.response.debiased(total[0], reports)
        return ((touched if self.parameters.counted == "touched" else reports - touched) / self._rate,)

    def estimate(self, total: Sequence[int], reports: int) -> Estimate:
        (value,) = self.debiased(total, reports)
        return Estimate(
            values=(value,),
            standard_errors=self._standard_errors([self._error(reports)], total, reports),
            standard_error_note=self._error_note("Includes the coins of toys."),
            projection=(min(max(value, 0.0), reports / self._rate),),
            details={"toy_box": "tidy"},
        )

    def truth(self, devices_by_count: Mapping[int, int]) -> tuple[float, ...]:
        wanted = self.parameters.counted == "touched"
        return (float(sum(n for count, n in devices_by_count.items() if (count > 0) == wanted)),)

    def expected_standard_error(self, population: int) -> float:
        require_population(population)
        return self._error(population * self._rate)

    def _release(self, n: int) -> PrivacyEvent:
        return RandomizedResponseSum(n=n, epsilon0=self.parameters.epsilon)

    def local_guarantees(self) -> tuple[Guarantee, ...]:
        return (
            Guarantee(
                model=Model.LOCAL,
                relation=Relation.REPLACE,
                epsilon=self.parameters.epsilon,
                delta=0.0,
                source="Randomized response of a toy.",
                assumption=FOLLOWS_PROTOCOL,
            ),
        )

    @property
    def _rate(self) -> float:
        return self.parameters.sampling_rate

    def _error(self, reports: float) -> float:
        coins = reports * self.response.variance / self._rate**2
        return float((coins + reports * (1 - self._rate) / self._rate**2) ** 0.5)

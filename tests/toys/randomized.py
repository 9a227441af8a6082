"""A statistic of values that devices randomize themselves, as a programmer adds one: this file, and a line
of `RANDOMIZERS`."""

import random
from collections.abc import Mapping, Sequence

from panprivacy.accounting.guarantees import Guarantee, Model, Relation
from panprivacy.accounting.interface import PrivacyEvent
from panprivacy.accounting.randomized_response_sum import RandomizedResponseSum
from panprivacy.formats.errors import FieldError
from panprivacy.protocols.dap.vdafs import Prio3SumVecConfig
from panprivacy.statistics.events.assumptions import FOLLOWS_PROTOCOL
from panprivacy.statistics.events.cohort import require_population
from panprivacy.statistics.events.randomized_response import RandomizedResponse
from panprivacy.statistics.intervals.estimate import Estimate
from panprivacy.statistics.randomized.interface import Randomizer, RandomizerParameters
from panprivacy.statistics.robustness import Robustness


class ToyRandomized(Randomizer[RandomizerParameters, bool]):
    """One bit through randomized response."""

    statistic = "toy_randomized"
    title = "Toys that squeak"
    description = "Estimates how many toys squeak."
    unit = "toys"
    counts_devices = True
    needs_proof = False
    parameters_class = RandomizerParameters
    columns = ("squeaks",)
    labels = ("toys that squeak",)
    contribution_length = 1
    allowed_values = range(2)
    vdaf_type = 3
    vdaf_message = Prio3SumVecConfig(1, 1, 1)

    def __init__(self, parameters: RandomizerParameters) -> None:
        super().__init__(parameters)
        self.response = RandomizedResponse(parameters.epsilon)

    def value_of(self, cells: Sequence[str]) -> bool:
        if list(cells) not in (["yes"], ["no"]):
            raise FieldError("squeaks", "must be yes or no")
        return list(cells) == ["yes"]

    def randomize(self, value: bool, random_source: random.Random) -> tuple[int, ...]:
        return (self.response.respond(int(value), random_source),)

    def debiased(self, total: Sequence[int], reports: int) -> tuple[float, ...]:
        return (self.response.debiased(total[0], reports) / self.parameters.sampling_rate,)

    def estimate(self, total: Sequence[int], reports: int) -> Estimate:
        self.require_total(total, reports)
        (value,) = self.debiased(total, reports)
        return Estimate(
            values=(value,),
            standard_errors=self._standard_errors([self._error(reports)], total, reports),
            standard_error_note=self._error_note("Includes the coins of toys."),
            projection=(min(max(value, 0.0), float(reports)),),
        )

    def truth(self, devices_by_value: Mapping[bool, int]) -> tuple[float, ...]:
        return (float(devices_by_value.get(True, 0)),)

    @property
    def robustness(self) -> Robustness:
        each = 1 / self.response.keep_probability / self.parameters.sampling_rate
        return Robustness(each=each, together=each, sentence="A toy squeaks once or not at all.")

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

    def _release(self, n: int) -> PrivacyEvent:
        return RandomizedResponseSum(n=n, epsilon0=self.parameters.epsilon)

    def expected_standard_error(self, population: int) -> float:
        require_population(population)
        return self._error(population * self.parameters.sampling_rate)

    def _error(self, reports: float) -> float:
        rate = self.parameters.sampling_rate
        return float((reports * self.response.variance + reports * (1 - rate)) ** 0.5 / rate)

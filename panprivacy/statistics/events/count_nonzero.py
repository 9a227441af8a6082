"""How many devices had at least one event (LPP Algorithm 3, Theorem 10)."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace

from panprivacy.accounting.guarantees import Guarantee, Model, Relation
from panprivacy.accounting.interface import PrivacyEvent
from panprivacy.accounting.randomized_response_sum import RandomizedResponseSum
from panprivacy.encryption.interface import PublicKey
from panprivacy.formats.parameters import Parameters
from panprivacy.statistics.events.assumptions import FOLLOWS_PROTOCOL
from panprivacy.statistics.events.cohort import require_population
from panprivacy.statistics.events.combined_result import SecretSampling
from panprivacy.statistics.events.interface import MaskedMechanism, Report, State, require_count, require_step
from panprivacy.statistics.events.randomized_response import (
    RandomizedResponse,
    bits_expected_margin,
    bits_interval_at,
    bits_intervals,
    bits_standard_error,
    bits_standard_error_note,
    expected_bits_error,
)
from panprivacy.statistics.intervals.estimate import Estimate, Interval


class CountNonzero(MaskedMechanism[Parameters]):
    """One encrypted bit, set by the first event and sent through randomized response.

    The projection of the estimate is its closest value between 0 and reports/q.
    """

    statistic = "count_nonzero"
    title = "Devices with at least one event"
    description = "Estimates how many devices had the event at least once."
    unit = "devices"
    counts_devices = True
    provable = True
    theorem = "LPP Theorem 10"
    release_relations = (Relation.REPLACE, Relation.ADD_REMOVE)
    parameters_class = Parameters
    state_ciphertexts = 1
    contribution_length = 1
    labels = ("at least one event",)

    def __init__(self, parameters: Parameters) -> None:
        super().__init__(parameters)
        self._response = RandomizedResponse(parameters.epsilon)

    def start(self, public_key: PublicKey, random_source: random.Random) -> State:
        # Algorithm 3, line 2: c = Enc(0).
        return (public_key.encrypt(0, random_source),)

    def step(
        self, public_key: PublicKey, state: State, event: int, step: int, random_source: random.Random
    ) -> State:
        require_step(self.parameters, step)
        (bit,) = state
        # Algorithm 3, lines 5 to 9: c = Φᵗ(Enc(1)) if there is an event, else Φ(c).
        return (public_key.replace_or_rerandomize(bool(event), 1, bit, random_source, rerandomizations=step),)

    def report(self, public_key: PublicKey, state: State, random_source: random.Random) -> Report:
        (bit,) = state
        times, blank = self.parameters.steps + 1, self._is_dummy(random_source)
        # Algorithm 3, lines 12 to 23: Φ(c) if the coin keeps the bit, else Φᵀ⁺¹(Enc(fair bit)).
        return (self._response.respond_encrypted(public_key, bit, times, random_source, blank=blank),)

    def state_of_count(
        self, public_key: PublicKey, count: int, step: int, random_source: random.Random
    ) -> State:
        require_count(self.parameters, count, step)
        # What lines 2 to 10 leave after `step` steps.
        return (public_key.encrypt(int(count > 0), random_source, rerandomizations=step),)

    def report_of_count(self, public_key: PublicKey, count: int, random_source: random.Random) -> Report:
        require_count(self.parameters, count, self.parameters.steps)
        blank = self._is_dummy(random_source)
        # Lines 12 to 23 on the bit in the clear: the coin first, encryption afterwards.
        response = self._response.respond(int(count > 0 and not blank), random_source)
        return (public_key.encrypt(response, random_source, rerandomizations=self.parameters.steps + 1),)

    @property
    def allowed_values(self) -> range:
        return range(2)

    def debiased(self, total: Sequence[int], reports: int) -> tuple[float, ...]:
        # The server debiases the sum as in Theorem 6, and divides by the sampling rate.
        return (self._response.debiased(total[0], reports) / self.parameters.sampling_rate,)

    def estimate(self, total: Sequence[int], reports: int) -> Estimate:
        self.require_total(total, reports)
        rate, rule = self.parameters.sampling_rate, self._rule_for(reports)
        (value,) = self.debiased(total, reports)
        error = bits_standard_error(self._response, value, reports, rate)
        return Estimate(
            values=(value,),
            standard_errors=self._standard_errors((error,), total, reports),
            standard_error_note=self._error_note(bits_standard_error_note(rate)),
            projection=(min(max(value, 0.0), reports / self.reporting_rate),),
            intervals=bits_intervals(self._response, total, reports, rate, rule),
        )

    def interval_at(self, level: float, values: Sequence[float], reports: int) -> Interval:
        rate, rule = self.parameters.sampling_rate, self._rule_for(reports)
        return bits_interval_at(level, self._response, values, reports, rate, rule)

    def truth(self, devices_by_count: Mapping[int, int]) -> tuple[float, ...]:
        return (float(sum(devices for count, devices in devices_by_count.items() if count > 0)),)

    def _release(self, n: int) -> PrivacyEvent:
        return RandomizedResponseSum(n=n, epsilon0=self.parameters.epsilon)

    def local_guarantees(self) -> tuple[Guarantee, ...]:
        """One bit: a device without events sends the reference report, so both relations are the same."""
        return tuple(
            Guarantee(
                model=Model.LOCAL,
                relation=relation,
                epsilon=self.parameters.epsilon,
                delta=0.0,
                source="Randomized response of one bit: LPP Theorem 10, Observation 5.",
                assumption=FOLLOWS_PROTOCOL,
            )
            for relation in self.release_relations
        )

    @property
    def sampling(self) -> SecretSampling | None:
        parameters, sampling = self.parameters, super().sampling
        if sampling is None:
            return None
        return replace(
            sampling,
            found=lambda n: RandomizedResponseSum(
                n=n, epsilon0=parameters.epsilon, sampling_rate=parameters.sampling_rate
            ),
        )

    def expected_standard_error(self, population: int) -> float:
        """The worst case over the truth: every device had an event."""
        require_population(population)
        rate, rule = self.parameters.sampling_rate, self.release_rule
        return expected_bits_error(self._response, population, rate, rule=rule, devices=population)

    def expected_margin(self, population: int, failure_probability: float) -> float:
        """Of the interval by exact tests, about; the worst case over the truth: every device had an event."""
        require_population(population)
        rate, rule = self.parameters.sampling_rate, self.release_rule
        return bits_expected_margin(self._response, population, rate, failure_probability, rule=rule)

"""How many devices had 0, 1, ..., k−1, and k or more events (LPP Algorithm 5, Theorem 11)."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from panprivacy.accounting.composition import Repetition
from panprivacy.accounting.guarantees import Guarantee, Model, Relation
from panprivacy.accounting.interface import PrivacyEvent
from panprivacy.accounting.randomized_response_sum import RandomizedResponseSum
from panprivacy.encryption.interface import Ciphertext, PublicKey
from panprivacy.formats.parameters import K, Parameters, described
from panprivacy.intervals.estimate import Estimate, Interval
from panprivacy.statistics.events.assumptions import FOLLOWS_PROTOCOL
from panprivacy.statistics.events.cohort import Release, require_population
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


@dataclass(frozen=True, kw_only=True)
class HistogramParameters(Parameters):
    """The parameters of every statistic, and the last bucket's start k."""

    k: int = described(
        **{**K, "label": "Last bucket (k)", "help": "Devices with k or more events share the last bucket."}
    )


class Histogram(MaskedMechanism[HistogramParameters]):
    """Encrypted indicators of "count = i" and "count ≥ i", shifted by every event.

    The state is (c_0..c_k, d_0..d_k), c_i encrypting [count = i] and d_i [count ≥ i]. The report is
    (c_0..c_{k−1}, d_k), each coordinate through its own randomized response. The projection of the
    estimate is the closest point (Euclidean) with no negative bucket and the sum reports/q.
    """

    statistic = "histogram"
    title = "Histogram of events per device"
    description = "Estimates how many devices had 0, 1, 2, ... events; the last bucket takes k or more."
    unit = "devices"
    parameters_class = HistogramParameters
    scalar = False
    counts_devices = True
    provable = True
    theorem = "LPP Theorem 11"

    def __init__(self, parameters: HistogramParameters) -> None:
        super().__init__(parameters)
        self._response = RandomizedResponse(parameters.epsilon)

    @property
    def cell_epsilon(self) -> float:
        """ε of the coin of one bucket."""
        return self.parameters.epsilon

    @property
    def state_ciphertexts(self) -> int:
        return 2 * (self.parameters.k + 1)

    def start(self, public_key: PublicKey, random_source: random.Random) -> State:
        # Algorithm 5, lines 2 to 5: c_0 = d_0 = Enc(1), and c_i = d_i = Enc(0) for i = 1..k.
        return self.state_of_count(public_key, 0, 0, random_source)

    def step(
        self, public_key: PublicKey, state: State, event: int, step: int, random_source: random.Random
    ) -> State:
        require_step(self.parameters, step)
        equal, at_least = self._split(state)
        # Algorithm 5, lines 8 to 17, for all c_i and then for all d_i.
        return (
            *self._shifted(public_key, equal, event, 0, step, random_source),
            *self._shifted(public_key, at_least, event, 1, step, random_source),
        )

    def _shifted(
        self,
        public_key: PublicKey,
        indicators: Sequence[Ciphertext],
        event: int,
        first: int,
        step: int,
        random_source: random.Random,
    ) -> list[Ciphertext]:
        """Indicators after one step; on an event each takes its predecessor's value, the first `first`."""
        new = list(indicators)
        # Lines 9 to 11 without an event: Φ(c_i). Lines 14 to 16 with one: Φ(c_{i−1}), but from k downwards
        # (errata), so that each predecessor is read first and overwritten afterwards.
        for i in range(self.parameters.k, 0, -1):
            new[i] = public_key.rerandomize(new[i - 1] if event else new[i], random_source)
        # Line 13, after the shift (errata): Φᵗ(Enc(0)) for c_0, Φᵗ(Enc(1)) for d_0.
        new[0] = public_key.replace_or_rerandomize(
            bool(event), first, new[0], random_source, rerandomizations=step
        )
        return new

    def report(self, public_key: PublicKey, state: State, random_source: random.Random) -> Report:
        equal, at_least = self._split(state)
        times, blank = self.parameters.steps + 1, self._is_dummy(random_source)
        # Algorithm 5, lines 20 to 23: v = (c_0, …, c_{k−1}, d_k).
        # Lines 24 to 34: each v_i through randomized response, by the coin as corrected (errata).
        return tuple(
            self._response.respond_encrypted(public_key, bit, times, random_source, blank=blank)
            for bit in (*equal[:-1], at_least[-1])
        )

    def state_of_count(
        self, public_key: PublicKey, count: int, step: int, random_source: random.Random
    ) -> State:
        require_count(self.parameters, count, step)
        buckets = range(self.parameters.k + 1)
        # What lines 2 to 18 leave after `step` steps.
        bits = [int(count == i) for i in buckets] + [int(count >= i) for i in buckets]
        return tuple(public_key.encrypt(bit, random_source, rerandomizations=step) for bit in bits)

    def report_of_count(self, public_key: PublicKey, count: int, random_source: random.Random) -> Report:
        require_count(self.parameters, count, self.parameters.steps)
        # Lines 24 to 34 on bits in the clear: the coins first, encryption afterwards.
        bucket = -1 if self._is_dummy(random_source) else min(count, self.parameters.k)
        return tuple(
            public_key.encrypt(
                self._response.respond(int(bucket == i), random_source),
                random_source,
                rerandomizations=self.parameters.steps + 1,
            )
            for i in range(self.parameters.k + 1)
        )

    def _split(self, state: State) -> tuple[State, State]:
        size = self.parameters.k + 1
        if len(state) != 2 * size:
            raise ValueError(f"a state has {2 * size} ciphertexts, not {len(state)}")
        return state[:size], state[size:]

    @property
    def allowed_values(self) -> range:
        return range(2)

    @property
    def contribution_length(self) -> int:
        return self.parameters.k + 1

    def debiased(self, total: Sequence[int], reports: int) -> tuple[float, ...]:
        rate = self.parameters.sampling_rate
        return tuple(self._response.debiased(bucket, reports) / rate for bucket in total)

    def estimate(self, total: Sequence[int], reports: int) -> Estimate:
        self.require_total(total, reports)
        rate, rule = self.parameters.sampling_rate, self._rule_for(reports)
        values = self.debiased(total, reports)
        errors = [bits_standard_error(self._response, value, reports, rate) for value in values]
        return Estimate(
            values=values,
            standard_errors=self._standard_errors(errors, total, reports),
            standard_error_note=self._error_note(bits_standard_error_note(rate)),
            projection=closest_histogram(values, reports / self.reporting_rate),
            intervals=bits_intervals(self._response, total, reports, rate, rule),
        )

    def interval_at(self, level: float, values: Sequence[float], reports: int) -> Interval:
        rate, rule = self.parameters.sampling_rate, self._rule_for(reports)
        return bits_interval_at(level, self._response, values, reports, rate, rule)

    @property
    def labels(self) -> tuple[str, ...]:
        k = self.parameters.k
        exact = tuple("1 event" if count == 1 else f"{count} events" for count in range(k))
        return (*exact, f"{k} or more events")

    def truth(self, devices_by_count: Mapping[int, int]) -> tuple[float, ...]:
        buckets = [0.0] * (self.parameters.k + 1)
        for count, devices in devices_by_count.items():
            buckets[min(count, self.parameters.k)] += devices
        return tuple(buckets)

    def _release(self, n: int) -> PrivacyEvent:
        # Two coordinates move under replacement; given all inputs, their noise is independent.
        return Repetition(event=self._coordinate(n), times=2)

    def _coordinate(self, n: int) -> PrivacyEvent:
        return RandomizedResponseSum(n=n, epsilon0=self.parameters.epsilon)

    def _releases(self) -> tuple[Release, ...]:
        # With secret sampling, nothing is claimed for add/remove: without the protected device a cohort holds
        # another one instead, which differs in two coordinates.
        return (*super()._releases(), Release((Relation.ADD_REMOVE,), self._coordinate))

    def local_guarantees(self) -> tuple[Guarantee, ...]:
        epsilon = self.parameters.epsilon
        return (
            Guarantee(
                model=Model.LOCAL,
                relation=Relation.ADD_REMOVE,
                epsilon=epsilon,
                delta=0.0,
                source="Randomized response of a one-hot vector that differs in one bit: LPP Theorem 11.",
                assumption=f"{FOLLOWS_PROTOCOL}; the reference is a report about all zeros, "
                "which no device's stream gives",
            ),
            Guarantee(
                model=Model.LOCAL,
                relation=Relation.REPLACE,
                epsilon=2 * epsilon,
                delta=0.0,
                source="Randomized response of a one-hot vector that differs in two bits: twice ε.",
                assumption=FOLLOWS_PROTOCOL,
            ),
        )

    def expected_standard_error(self, population: int) -> float:
        """Of one bucket; the worst case over the truth: every device is in it."""
        require_population(population)
        rate, rule = self.parameters.sampling_rate, self.release_rule
        return expected_bits_error(self._response, population, rate, rule=rule, devices=population)

    def expected_margin(self, population: int, failure_probability: float) -> float:
        """Of the intervals of all buckets together, about; the worst case is the same as for the standard
        error."""
        require_population(population)
        each = failure_probability / (self.parameters.k + 1)
        rate, rule = self.parameters.sampling_rate, self.release_rule
        return bits_expected_margin(self._response, population, rate, each, rule=rule)


def closest_histogram(values: Sequence[float], total: float) -> tuple[float, ...]:
    """The point closest to `values` (Euclidean) with no negative entry and the sum `total` ≥ 0.

    Subtracts from all the one level at which the positive parts add up to `total` (Held, Wolfe &
    Crowder 1974).
    """
    given = np.asarray(values, dtype=float)
    descending = np.sort(given)[::-1]
    levels = (np.cumsum(descending) - total) / np.arange(1, given.size + 1)
    # The largest entries stay positive as long as they exceed the level that they alone would need.
    level = levels[int(np.flatnonzero(descending >= levels)[-1])]
    return tuple(float(value) for value in np.maximum(given - level, 0.0))

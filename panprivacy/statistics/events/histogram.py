"""How many devices had 0, 1, ..., k−1, and k or more events (LPP Algorithm 5, Theorem 11)."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from panprivacy.encryption.interface import Ciphertext, PublicKey
from panprivacy.formats.parameters import EPSILON, K, described
from panprivacy.statistics.events.interface import Report, State, require_count, require_step
from panprivacy.statistics.events.one_hot import OneHotMechanism, OneHotParameters


@dataclass(frozen=True, kw_only=True)
class HistogramParameters(OneHotParameters):
    """The parameters of every statistic, the coin, and the last bucket's start k. ε is that of one bucket's
    coin: with either coin, a replaced device costs twice as much."""

    epsilon: float = described(
        **{
            **EPSILON,
            "help": "Replacing what happened on a device costs twice as much, with either coin. A smaller ε "
            "protects a device more and makes the result less precise.",
        }
    )
    k: int = described(
        **{**K, "label": "Last bucket (k)", "help": "Devices with k or more events share the last bucket."}
    )

    @property
    def replacement_epsilon(self) -> float:
        return 2 * self.epsilon


class Histogram(OneHotMechanism[HistogramParameters]):
    """Encrypted indicators of "count = i" and "count ≥ i", shifted by every event.

    The state is (c_0..c_k, d_0..d_k), c_i encrypting [count = i] and d_i [count ≥ i]. The report is
    (c_0..c_{k−1}, d_k), through one coin or each through a coin of its own.
    """

    statistic = "histogram"
    title = "Histogram of events per device"
    description = "Estimates how many devices had 0, 1, 2, ... events; the last bucket takes k or more."
    parameters_class = HistogramParameters
    provable = True
    theorem = "LPP Theorem 11"

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
        blank = self._is_dummy(random_source)
        # Algorithm 5, lines 20 to 23: v = (c_0, …, c_{k−1}, d_k). The cell of dummies is 0.
        cells = [*equal[:-1], at_least[-1]]
        if self._has_dummy_cell:
            times = self.parameters.steps
            cells.append(public_key.encrypt(0, random_source, rerandomizations=times))
        # Lines 24 to 34: each v_i through randomized response, by the coin as corrected; or v as a whole
        # (errata).
        return self._respond(public_key, cells, blank, random_source)

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
        return self._respond_in_clear(public_key, min(count, self.parameters.k), random_source)

    def _split(self, state: State) -> tuple[State, State]:
        size = self.parameters.k + 1
        if len(state) != 2 * size:
            raise ValueError(f"a state has {2 * size} ciphertexts, not {len(state)}")
        return state[:size], state[size:]

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

"""How many bits of a stream are 1, under record-level pan-privacy (RSP Algorithm 7, Theorem 5.1)."""

import math
import random
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from panprivacy.accounting import binomial
from panprivacy.accounting.binomial_noise import least_noise
from panprivacy.accounting.guarantees import Guarantee, Model, Relation
from panprivacy.estimate import Estimate
from panprivacy.parameters import DELTA, EPSILON, PublicParameters, described
from panprivacy.streams.interface import CONFIDENCE, require_confidence
from panprivacy.streams.looks import SURPRISE_COMES_LAST, count_announcement, require_allowed
from panprivacy.streams.state import StreamState
from panprivacy.trust_models.curator import Curator

_BITS_AT_ONCE = 1 << 23

NOISE_NOTE = (
    "Includes the noise before the stream, after each announced intrusion and of the result; the standard "
    "error is exact."
)


def noise_bits(epsilon: float, delta: float) -> int:
    """λ: how many fair bits added up hide a change by 1 (RSP Lemma 2.4, Theorem 5.1).

    The smallest whole number of at least 20·((e^ε + 1)/(e^ε − 1))²·ln(2/δ).
    """
    return math.ceil(2 * least_noise(epsilon, delta))


def binomial_noise(bits: int, count: int, random_source: random.Random) -> NDArray[np.int64]:
    """`count` independent draws from Bin(bits, 1/2), exactly: so many random bits are added up."""
    drawn = np.zeros(count, dtype=np.int64)
    for start in range(0, bits, _BITS_AT_ONCE):
        some = min(_BITS_AT_ONCE, bits - start)
        drawn += np.array([random_source.getrandbits(some).bit_count() for _ in range(count)], dtype=np.int64)
    return drawn


@dataclass(frozen=True, kw_only=True)
class BinaryNoise:
    """The noise of one counter of whole numbers, each element of the stream changing it by at most 1.

    Noise is added before the stream, after every announced intrusion and to the result. An element that
    arrives before a look is hidden by the noise added last before that look, which no earlier look has seen.
    An element that arrives after all looks is hidden by the noise of the result. Later looks see an element
    only through what an earlier look has seen already. So (ε, δ) is paid once, however many intrusions are
    announced.

    Attributes:
        epsilon, delta: of a change by 1.
    """

    epsilon: float
    delta: float

    @property
    def bits(self) -> int:
        """λ."""
        return noise_bits(self.epsilon, self.delta)

    def draw(self, count: int, random_source: random.Random) -> NDArray[np.int64]:
        """Fresh noise for so many counters."""
        return binomial_noise(self.bits, count, random_source)

    def mean(self, announced_intrusions: int) -> float:
        """Of all noise in a result: λ without announced intrusions, which the paper leaves in."""
        return self._all_bits(announced_intrusions) / 2

    def standard_error(self, announced_intrusions: int) -> float:
        """Of a result."""
        return math.sqrt(self._all_bits(announced_intrusions)) / 2

    def error_bound(self, announced_intrusions: int, failure_probability: float) -> float:
        """What the error of a result exceeds with at most this probability; never above `mean`, as in
        Theorem 5.1."""
        bits = self._all_bits(announced_intrusions)
        _, highest = binomial.window(bits, 0.5, 0.5, failure_probability / 2)
        return highest - bits / 2

    def _all_bits(self, announced_intrusions: int) -> int:
        return (announced_intrusions + 2) * self.bits


@dataclass(frozen=True, kw_only=True)
class PanPrivateCounterParameters(PublicParameters):
    """One counter and its noise."""

    epsilon: float = described(**EPSILON)
    delta: float = described(**DELTA)
    announced_intrusions: int = described(
        label="Announced intrusions",
        help="How often the state may be read on purpose; noise is added after each.",
        minimum=0,
        maximum=20,
        default=1,
    )


class PanPrivateCounter:
    """A counter that starts at noise, goes up with every 1, and is released with noise once more.

    State: `counter`, one number. Neighbouring streams differ in one bit.
    """

    def __init__(self, parameters: PanPrivateCounterParameters) -> None:
        self.parameters = parameters
        self.noise = BinaryNoise(epsilon=parameters.epsilon, delta=parameters.delta)

    def start(self, random_source: random.Random) -> StreamState:
        """The state before the first bit."""
        return StreamState("binary_sum", arrays={"counter": self.noise.draw(1, random_source)})

    def process(self, state: StreamState, bit: int) -> None:
        """Take in one bit; ValueError unless it is 0 or 1."""
        if bit not in (0, 1):
            raise ValueError(f"a bit must be 0 or 1, not {bit!r}")
        state.arrays["counter"] += bit

    def announce_intrusion(self, state: StreamState, random_source: random.Random) -> None:
        """Add fresh noise; ValueError where as many intrusions as allowed have been announced."""
        count_announcement(state, self.parameters.announced_intrusions)
        state.arrays["counter"] += self.noise.draw(1, random_source)

    def noisy_counts(self, state: StreamState, random_source: random.Random) -> NDArray[np.int64]:
        """The counter, with as much noise once more as it started with: all that a release reads."""
        counter: NDArray[np.int64] = state.arrays["counter"]
        return counter + self.noise.draw(1, random_source)

    def estimate(
        self, state: StreamState, random_source: random.Random, confidence: float = CONFIDENCE
    ) -> Estimate:
        """The number of ones, unbiased; the projection is not negative."""
        require_confidence(confidence)
        announced = state.announced_intrusions
        (noisy,) = self.noisy_counts(state, random_source).tolist()
        value = noisy - self.noise.mean(announced)
        return Estimate(
            values=(value,),
            standard_errors=(self.noise.standard_error(announced),),
            standard_error_note=NOISE_NOTE,
            projection=(max(value, 0.0),),
            error_bounds=(self.noise.error_bound(announced, 1 - confidence),),
            confidence=confidence,
        )

    def guarantee(self, announced_intrusions: int) -> Guarantee:
        """(ε, δ), however many intrusions are announced; ValueError for more than allowed."""
        require_allowed(announced_intrusions, self.parameters.announced_intrusions)
        return Guarantee(
            model=Model.PAN,
            relation=Relation.RECORD,
            epsilon=self.parameters.epsilon,
            delta=self.parameters.delta,
            source="RSP Theorem 5.1; every announced intrusion is followed by noise of its own.",
            assumption=SURPRISE_COMES_LAST,
            trust=Curator.trust,
            intrusions=1,
            announced_intrusions=announced_intrusions,
        )

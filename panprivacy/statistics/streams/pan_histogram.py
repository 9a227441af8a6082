"""How often each item of a small universe appeared, under record-level pan-privacy (RSP section 5).

Every item has a counter by Algorithm 7 (Theorem 5.1), whose noise is a sum of fair bits. Theorem 5.2 is for
all counters together.
"""

import math
import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from panprivacy.accounting import binomial
from panprivacy.accounting.binomial_noise import least_noise
from panprivacy.accounting.epsilon_delta import EpsilonDelta
from panprivacy.accounting.guarantees import Guarantee, Model, Relation
from panprivacy.accounting.interface import PrivacyEvent
from panprivacy.formats.errors import FieldError
from panprivacy.formats.parameters import DELTA, EPSILON, described
from panprivacy.statistics.intervals.estimate import Estimate
from panprivacy.statistics.streams.interface import (
    CONFIDENCE,
    INTRUSION_ORDER,
    StreamStatistic,
    count_announcement,
    require_allowed,
    require_confidence,
)
from panprivacy.statistics.streams.parameters import NUMBERED, CounterParameters
from panprivacy.statistics.streams.state import StreamState
from panprivacy.statistics.trust_models.curator import Curator

_BITS_AT_ONCE = 1 << 23

NOISE_NOTE = (
    "Includes the noise before the stream, after each announced intrusion and of the result; the standard "
    "error is exact."
)

MOST_BITS = 4_000_000_000
"""Random bits that may be drawn at once: seconds of work."""


def noise_bits(epsilon: float, delta: float) -> int:
    """λ: how many fair bits added up hide a change by 1 (RSP Lemma 2.4, Theorem 5.1).

    The smallest whole number of at least 20·((e^ε + 1)/(e^ε − 1))²·ln(2/δ).
    """
    return math.ceil(2 * least_noise(epsilon, delta))


def binomial_noise(bits: int, count: int, random_source: random.Random) -> NDArray[np.int64]:
    """`count` independent draws from Bin(bits, 1/2), exactly: by adding up random bits."""
    drawn = np.zeros(count, dtype=np.int64)
    for start in range(0, bits, _BITS_AT_ONCE):
        some = min(_BITS_AT_ONCE, bits - start)
        drawn += np.array([random_source.getrandbits(some).bit_count() for _ in range(count)], dtype=np.int64)
    return drawn


@dataclass(frozen=True, kw_only=True)
class BinaryNoise:
    """The noise of one counter of whole numbers (Algorithm 7); each element of the stream moves it by at most
    1.

    Noise is added at the start, after every announced intrusion and to the result. An element that precedes
    an intrusion is hidden by the last noise added ahead of that intrusion, which no previous intrusion has
    seen. An element that follows all intrusions is hidden by the noise of the result. Later intrusions see an
    element only through what a previous one has already seen. So (ε, δ) is paid once, for any number of
    announced intrusions.

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
        """Fresh noise for this number of counters."""
        return binomial_noise(self.bits, count, random_source)

    def mean(self, announced_intrusions: int) -> float:
        """Of all noise in a result: λ without announced intrusions, which the paper leaves in."""
        return self._all_bits(announced_intrusions) / 2

    def standard_error(self, announced_intrusions: int) -> float:
        """Of a result."""
        return math.sqrt(self._all_bits(announced_intrusions)) / 2

    def error_bound(self, announced_intrusions: int, failure_probability: float) -> float:
        """The bound that the error of a result exceeds with at most this probability; never above `mean`, as
        in Theorem 5.1."""
        bits = self._all_bits(announced_intrusions)
        _, highest = binomial.window(bits, 0.5, 0.5, failure_probability / 2)
        return highest - bits / 2

    def _all_bits(self, announced_intrusions: int) -> int:
        return (announced_intrusions + 2) * self.bits


@dataclass(frozen=True, kw_only=True)
class PanHistogramParameters(CounterParameters):
    """A counter for every item of the universe, so that the table has the size of the universe."""

    epsilon: float = described(
        **{**EPSILON, "help": "Privacy loss of one counter; replacing an element moves two."}
    )
    delta: float = described(
        **{**DELTA, "help": "Probability with which the protection of one counter may fail."}
    )
    universe_size: int = described(
        label="Universe size",
        help="Number of items that could appear in the stream.",
        minimum=2,
        maximum=100_000,
    )
    table_size: int = described(
        label="Table size",
        help="As large as the universe: every item has a counter of its own.",
        minimum=2,
        maximum=100_000,
        default=None,
    )
    announced_intrusions: int = described(
        label="Announced intrusions",
        help="How often the state may be read on purpose. 0 is the most precise choice: noise is added to "
        "every counter after each. The guarantee stays the same.",
        minimum=0,
        maximum=20,
        default=1,
    )

    def __post_init__(self) -> None:
        if self.table_size is None:
            object.__setattr__(self, "table_size", self.universe_size)
        super().__post_init__()
        if self.table_size != self.universe_size:
            raise FieldError(
                "table_size",
                f"must be left out, or the universe size of {self.universe_size:,}: every item has a counter",
            )
        bits = self.universe_size * self.noise.bits
        if bits > MOST_BITS:
            raise FieldError(
                "epsilon",
                f"asks for {bits:.1e} random bits each time noise is drawn, of at most {MOST_BITS:.0e}; "
                "raise ε, or make the universe smaller",
            )

    @property
    def noise(self) -> BinaryNoise:
        """Of each counter."""
        return BinaryNoise(epsilon=self.epsilon, delta=self.delta)


class PanHistogram(StreamStatistic[PanHistogramParameters]):
    """One pan-private binary sum for each item (RSP Theorem 5.2).

    State: `counters`, one per item, that start at noise. What is protected is one element of the stream:
    replaced by another, it moves two counters by 1 each. The projection has no negative numbers.
    """

    statistic = "pan_histogram"
    title = "Appearances of each item"
    description = (
        "Estimates how often each item of a small universe appeared. It protects single elements of the "
        "stream: use it if each person contributes one."
    )
    unit = "elements"
    scalar = False
    per_item = True
    state_description = (
        "A counter for each item. It starts at a random number, which hides each single element. As much "
        "is added again before the result."
    )
    parameters_class = PanHistogramParameters
    budget_condition = "each person contributes one element"

    @property
    def labels(self) -> tuple[str, ...]:
        """The numbers themselves; of a list, the places in it, from 1: the list is not kept."""
        return tuple(self.label(number) for number in range(self.parameters.universe_size))

    def label(self, position: int) -> str:
        if self.parameters.items == NUMBERED:
            return f"item {position}"
        return f"item {position + 1} of the list"

    def start(self, random_source: random.Random) -> StreamState:
        # Algorithm 7, step 1: I_0 ~ Bin(λ, 1/2).
        counters = self.parameters.noise.draw(self.parameters.universe_size, random_source)
        return StreamState(self.statistic, arrays={"counters": counters})

    def count_item(self, state: StreamState, cell: int) -> tuple[()]:
        # Algorithm 7, steps 2 and 3: I_i = I_{i−1} + x_i, in the counter of the item.
        state.arrays["counters"][cell] += 1
        return ()

    def count_batch(self, state: StreamState, cells: NDArray[np.int64]) -> tuple[()]:
        np.add.at(state.arrays["counters"], cells, 1)
        return ()

    def announce_intrusion(self, state: StreamState, random_source: random.Random) -> None:
        count_announcement(state, self.parameters.announced_intrusions)
        state.arrays["counters"] += self.parameters.noise.draw(self.parameters.universe_size, random_source)

    def noisy_counts(self, state: StreamState, random_source: random.Random) -> NDArray[np.int64]:
        """Every counter, with as much noise once more as it started with."""
        # Algorithm 7, steps 4 and 5: η ~ Bin(λ, 1/2), and c̃ = I_n + η.
        counters: NDArray[np.int64] = state.arrays["counters"]
        return counters + self.parameters.noise.draw(counters.size, random_source)

    def estimate(
        self, state: StreamState, random_source: random.Random, confidence: float = CONFIDENCE
    ) -> Estimate:
        size, noise = self.parameters.universe_size, self.parameters.noise
        intrusions = state.announced_intrusions
        error_bound = self._error_bound(intrusions, confidence)
        # Step 6 returns c̃; less the mean of its noise, it is unbiased.
        values = self.noisy_counts(state, random_source) - noise.mean(intrusions)
        return Estimate(
            values=tuple(values.tolist()),
            standard_errors=(noise.standard_error(intrusions),) * size,
            standard_error_note=NOISE_NOTE,
            projection=tuple(np.maximum(values, 0.0).tolist()),
            error_bounds=(error_bound,) * size,
            confidence=confidence,
        )

    def _error_bound(self, announced_intrusions: int, confidence: float) -> float:
        """For each counter; all together keep it with the stated confidence (union bound)."""
        require_confidence(confidence)
        failure_probability = (1 - confidence) / self.parameters.universe_size
        return self.parameters.noise.error_bound(announced_intrusions, failure_probability)

    def truth(self, counts: Mapping[Any, int]) -> tuple[float, ...]:
        """Items are given by their number, or their place in the list from 0 on, as numbers or text."""
        found = [0.0] * self.parameters.universe_size
        for item, count in counts.items():
            found[int(item)] = float(count)
        return tuple(found)

    def guarantee(self, announced_intrusions: int) -> Guarantee:
        """(2ε, 2δ), however many intrusions are announced."""
        require_allowed(announced_intrusions, self.parameters.announced_intrusions)
        return Guarantee(
            model=Model.PAN,
            relation=Relation.RECORD,
            epsilon=2 * self.parameters.epsilon,
            delta=2 * self.parameters.delta,
            source="RSP Theorem 5.2: (ε, δ) for each of two counters; new noise after announced intrusions.",
            assumption=INTRUSION_ORDER,
            trust=Curator.trust,
            intrusions=1,
            announced_intrusions=announced_intrusions,
        )

    def guarantees(self) -> tuple[Guarantee, ...]:
        """Of one element, and that none of all elements of a user has been computed."""
        allowed = self.parameters.announced_intrusions
        user = Guarantee(
            model=Model.PAN,
            relation=Relation.USER,
            epsilon=None,
            delta=None,
            source="Not bounded: a person with g elements has g times the ε of one, and a larger δ.",
            trust=Curator.trust,
            intrusions=1,
            announced_intrusions=allowed,
        )
        return (self.guarantee(allowed), user)

    def aggregator_event(self) -> PrivacyEvent:
        """What a budget is charged with, if each person contributes one element (assumed in RSP section 2.2):
        to replace that is to replace all that they did."""
        return EpsilonDelta(
            epsilon_given=2 * self.parameters.epsilon,
            delta_given=2 * self.parameters.delta,
            relation=Relation.REPLACE.value,
        )

    def require_promise(self) -> None:
        """Nothing: the noise follows from ε and δ."""

    def expected_error_bound(self, confidence: float = CONFIDENCE, announced_intrusions: int = 0) -> float:
        return self._error_bound(announced_intrusions, confidence)

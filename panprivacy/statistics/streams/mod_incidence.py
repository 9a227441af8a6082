"""Which fraction of the universe appeared 0, 1, …, k − 1 times modulo k (PPS Figure 5, Theorem 5.2)."""

import math
import random
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from panprivacy.accounting import discrete_laplace
from panprivacy.formats.errors import FieldError
from panprivacy.formats.parameters import described
from panprivacy.intervals.estimate import Estimate
from panprivacy.statistics.streams.counter_parameters import CounterParameters
from panprivacy.statistics.streams.deviation import LaplaceErrors, deviation, table_sampling
from panprivacy.statistics.streams.interface import CONFIDENCE, require_confidence
from panprivacy.statistics.streams.intrusions import count_announcement
from panprivacy.statistics.streams.residues import ResidueErrors, ResidueNoise, cyclic_convolution
from panprivacy.statistics.streams.result_noise import with_laplace_noise
from panprivacy.statistics.streams.state import StreamState
from panprivacy.statistics.streams.user_level import UserLevelStatistic
from panprivacy.statistics.streams.violation import closest_fractions

LARGEST_AMPLIFICATION = 120
"""log₁₀ of `ModIncidence.amplification`, so that its square is a number too."""


@dataclass(frozen=True, kw_only=True)
class ModIncidenceParameters(CounterParameters):
    """A table of counters modulo k."""

    k: int = described(
        label="Modulus (k)",
        help="Appearances of an item are counted modulo k. A larger k makes the result less precise.",
        minimum=2,
        maximum=200,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        # Of a table of counters so random an error bound could not even be computed.
        looks = math.floor(LARGEST_AMPLIFICATION / math.log10(2 * self.k / self.epsilon))
        if self.announced_intrusions + 1 > looks:
            raise FieldError(
                "announced_intrusions",
                f"must be at most {looks - 1} for this ε and k, not {self.announced_intrusions}: after more, "
                "nothing could be read from the counters",
            )


class ModIncidence(UserLevelStatistic[ModIncidenceParameters]):
    """A counter modulo k per item, which starts at noise (see `residues`).

    State: `counters`, one per cell, 0..k − 1. Result: how many counters show each value, with discrete
    Laplace noise of scale 2/ε on each of the k numbers, because one item can move two of them by 1; then the
    mean effect of the counters' own noise is inverted, which is unbiased. The projection is the
    solution of the linear program: fractions that are not negative and have sum 1.

    Each intrusion costs ε: the likeliest start of a counter and the least likely one differ by the factor
    e^ε. Every intrusion, and the result, has noise that no other has seen, so their ε's add up; and some
    streams reach the sum.
    """

    statistic = "mod_incidence"
    title = "Appearances modulo k"
    description = (
        "Estimates which fraction of all possible items appeared 0, 1, …, k − 1 times, counted modulo k."
    )
    unit = "of all items"
    scalar = False
    state_description = (
        "A counter for each item that has a place. It counts modulo k and starts at a random number, 0 a "
        "little more often than others, so its value reveals hardly anything about its item."
    )
    parameters_class = ModIncidenceParameters
    detail_labels: ClassVar = {
        "amplification": (
            "Amplification",
            "The factor by which undoing the counters' noise enlarges all other errors.",
        ),
    }
    source = (
        "PPS Theorem 5.2, with noise for both entries that one item moves: ε for each intrusion and ε "
        "for the result; exact."
    )
    largest = 1.0

    def __init__(self, parameters: ModIncidenceParameters) -> None:
        super().__init__(parameters)
        self._noise = ResidueNoise(parameters.k, parameters.epsilon)
        self._output_scale = 2 / Fraction(parameters.epsilon)

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(f"{residue} (mod {self.parameters.k})" for residue in range(self.parameters.k))

    def start(self, random_source: random.Random) -> StreamState:
        counters = self._noise.draw(self.parameters.table_size, random_source).astype(np.int16)
        return StreamState(self.statistic, arrays={"counters": counters})

    def process(
        self,
        state: StreamState,
        cell: int,
        random_source: random.Random,  # noqa: ARG002  # counting draws nothing
    ) -> None:
        counters = state.arrays["counters"]
        counters[cell] = (counters[cell] + 1) % self.parameters.k

    def process_batch(
        self,
        state: StreamState,
        cells: NDArray[np.int64],
        random_source: random.Random,  # noqa: ARG002  # counting draws nothing
    ) -> None:
        counters = state.arrays["counters"]
        seen, appearances = np.unique(cells, return_counts=True)
        counters[seen] = (counters[seen] + appearances) % self.parameters.k

    def announce_intrusion(self, state: StreamState, random_source: random.Random) -> None:
        count_announcement(state, self.parameters.announced_intrusions)
        counters = state.arrays["counters"]
        fresh = self._noise.draw(self.parameters.table_size, random_source)
        counters[:] = (counters + fresh) % self.parameters.k

    def noisy_counts(self, state: StreamState, random_source: random.Random) -> NDArray[np.int64]:
        """How many counters show 0, 1, …, k − 1."""
        counts = np.bincount(state.arrays["counters"], minlength=self.parameters.k)
        return with_laplace_noise(counts, self._output_scale, random_source)

    def estimate(
        self, state: StreamState, random_source: random.Random, confidence: float = CONFIDENCE
    ) -> Estimate:
        parameters = self.parameters
        noises = state.announced_intrusions + 1
        error_bound = self._error_bound(noises, confidence)
        shown = self.noisy_counts(state, random_source) / parameters.table_size
        values = cyclic_convolution(self._noise.inverse(noises), shown)
        projection = closest_fractions(self._noise.distribution(noises), shown)
        return Estimate(
            values=tuple(values.tolist()),
            standard_errors=tuple(self._standard_errors(noises, projection).tolist()),
            standard_error_note=(
                "Includes the noise that the counters start with, the noise of the result, and the random "
                "choice of the table's items, each as it would be if the projection were the truth."
            ),
            projection=tuple(projection.tolist()),
            error_bounds=(error_bound,) * parameters.k,
            confidence=confidence,
            details={"amplification": self.amplification(state.announced_intrusions)},
        )

    def amplification(self, announced_intrusions: int) -> float:
        """By how much an error of the counters' fractions can be larger in the result: the largest sum of
        absolute values in a row of the inverse, coth(ε/(2(k − 1))) to the power of the intrusions."""
        return float(np.abs(self._noise.inverse(announced_intrusions + 1)).sum())

    def _standard_errors(self, noises: int, fractions: NDArray[np.float64]) -> NDArray[np.float64]:
        table_size, universe_size = self.parameters.table_size, self.parameters.universe_size
        inverse = self._noise.inverse(noises)
        variance = self._noise.variance(noises, fractions) / table_size
        variance += discrete_laplace.variance(self._output_scale) * (inverse**2).sum() / table_size**2
        if universe_size > 1:
            left_out = (universe_size - table_size) / (universe_size - 1)
            variance += left_out * fractions * (1 - fractions) / table_size
        return np.asarray(np.sqrt(variance))

    def _error_bound(self, noises: int, confidence: float) -> float:
        """For each of the k values; all together keep it with the stated confidence (union bound)."""
        require_confidence(confidence)
        table_size = self.parameters.table_size
        return deviation(
            [
                ResidueErrors(self._noise, noises, table_size),
                LaplaceErrors(self._output_scale, self._noise.inverse(noises) / table_size),
                table_sampling(table_size, self.parameters.universe_size),
            ],
            (1 - confidence) / self.parameters.k,
        )

    def truth(self, counts: Mapping[Any, int]) -> tuple[float, ...]:
        residues = np.bincount(
            [count % self.parameters.k for count in counts.values()], minlength=self.parameters.k
        )
        residues[0] += self.parameters.universe_size - len(counts)
        return tuple((residues / self.parameters.universe_size).tolist())

    def total_epsilon(self, announced_intrusions: int) -> float:
        return (announced_intrusions + 2) * self.parameters.epsilon

    def expected_error_bound(self, confidence: float = CONFIDENCE, announced_intrusions: int = 0) -> float:
        return self._error_bound(announced_intrusions + 1, confidence)

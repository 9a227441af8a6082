"""Which fraction of the universe appeared 0, 1, …, k − 1 times modulo k: the mod-k incidence counter (PPS
Figure 5, Theorem 5.2).

A counter modulo p starts at a noise value i of 0..p − 1, with probability proportional to exp(−ε·i/(p − 1)),
and goes up by 1 whenever its item appears. Let f be the fractions of items that appeared 0, 1, …, p − 1 times
modulo p, and w the distribution of the noise. Counters then show the fractions w ∗ f on average, the cyclic
convolution (w ∗ f)[i] = Σ_h w[h]·f[(i − h) mod p]. So the noise matrix has the entries
N[i,j] = w[(i − j) mod p]. (Printed: i + j.)

With r = exp(−ε/(p − 1)) its inverse is short and exact, f[i] = (s[i] − r·s[i − 1])/(1 − r). After a announced
intrusions there have been a + 1 draws of noise, and all of this happens that number of times.
"""

import math
import random
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

# Its parts are loaded when they are first used (see accounting/discrete_gaussian_sum.py).
import scipy
from numpy.typing import NDArray

from panprivacy.accounting import discrete_laplace
from panprivacy.formats.errors import FieldError
from panprivacy.formats.parameters import described
from panprivacy.statistics.intervals.estimate import Estimate
from panprivacy.statistics.streams import draws
from panprivacy.statistics.streams.deviation import LaplaceErrors, deviation, table_sampling
from panprivacy.statistics.streams.draws import with_laplace_noise
from panprivacy.statistics.streams.interface import CONFIDENCE, count_announcement, require_confidence
from panprivacy.statistics.streams.parameters import CounterParameters
from panprivacy.statistics.streams.state import StreamState
from panprivacy.statistics.streams.user_level import UserLevelStatistic

Numbers = NDArray[np.float64]

_WHOLE = 2**63

LARGEST_AMPLIFICATION = 120
"""log₁₀ of `ModIncidence.amplification`, so that its square is a number too."""


def cyclic_convolution(first: Numbers, second: Numbers) -> Numbers:
    """Σ_h first[h]·second[(i − h) mod p] for every i; both have length p."""
    full = np.convolve(first, second)
    full[: len(first) - 1] += full[len(first) :]
    return full[: len(first)]


@dataclass(frozen=True)
class ResidueNoise:
    """The noise of counters modulo `modulus` (at least 2) that protects each with `epsilon` (above 0)."""

    modulus: int
    epsilon: float

    @cached_property
    def weights(self) -> NDArray[np.uint64]:
        """2⁶³ times the probability of each noise value, exactly.

        Rounded down, and what is left over goes to the least likely value: so no two differ by more than a
        factor of e^ε.
        """
        with localcontext() as context:
            context.prec = 60
            ratio = (-Decimal(self.epsilon) / (self.modulus - 1)).exp()
            unscaled = [Decimal(1)]
            while len(unscaled) < self.modulus:
                unscaled.append(unscaled[-1] * ratio)
            total = sum(unscaled)
            weights = [int(_WHOLE * value / total) for value in unscaled]
        weights[-1] += _WHOLE - sum(weights)
        return np.array(weights, dtype=np.uint64)

    def draw(self, count: int, random_source: random.Random) -> NDArray[np.int64]:
        """This number of independent noise values, exactly distributed by `weights`."""
        below = np.cumsum(self.weights[:-1])
        return np.searchsorted(below, draws.below(count, _WHOLE, random_source), side="right")

    def distribution(self, noises: int) -> Numbers:
        """Probability of each sum, modulo p, of this number of noise values (at least 1)."""
        once = self.weights.astype(np.float64) / _WHOLE
        found = once
        for _ in range(noises - 1):
            found = cyclic_convolution(found, once)
        return found

    def inverse(self, noises: int) -> Numbers:
        """The b with b ∗ distribution(noises) = (1, 0, …, 0).

        The sum of their absolute values, about (2(p − 1)/ε)^noises, is by how much it can enlarge an error.
        """
        step = self.epsilon / (self.modulus - 1)
        once = np.zeros(self.modulus)
        once[0] = 1 / -math.expm1(-step)
        once[1] = -math.exp(-step) * once[0]
        found = once
        for _ in range(noises - 1):
            found = cyclic_convolution(found, once)
        return found

    def variance(self, noises: int, fractions: Numbers) -> Numbers:
        """Table size times the variance of each inverted fraction that the noise causes.

        Args:
            fractions: of the items, by how often they appeared modulo p.
        """
        shown = cyclic_convolution(self.distribution(noises), fractions)
        second_moments = cyclic_convolution(self.inverse(noises) ** 2, shown)
        return np.maximum(second_moments - fractions, 0.0)


class ResidueErrors:
    """The error that the noise of `table_size` counters causes in one inverted fraction.

    Its cumulant is exact except for which items appeared how often: the worst case is taken. All residues
    have the same.
    """

    largest_rate = math.inf

    def __init__(self, noise: ResidueNoise, noises: int, table_size: int) -> None:
        """Args: as in `ResidueNoise.variance`."""
        inverse = noise.inverse(noises)
        distribution = noise.distribution(noises)
        self._table_size = table_size
        # A counter that shows −h adds inverse[h] to the fraction of residue 0. An item that appeared −j times
        # shows −h with probability distribution[j − h].
        shown = np.flatnonzero(inverse)
        self._values = inverse[shown]
        residues = np.arange(noise.modulus)
        self._probabilities = distribution[(residues[:, None] - shown[None, :]) % noise.modulus]
        self._mean = (residues == 0).astype(np.float64)

    def cumulant(self, rate: float) -> float:
        share = rate / self._table_size
        moments = self._probabilities @ np.expm1(share * self._values)
        return float(self._table_size * (np.log1p(moments) - share * self._mean).max())

    def variance_bound(self, fraction: float) -> float:
        """Of that error, if this number of items have residue 0: whatever residues the others have."""
        second_moments = self._probabilities @ self._values**2
        others = float(second_moments[1:].max())
        return (fraction * (float(second_moments[0]) - 1) + (1 - fraction) * others) / self._table_size


def closest_fractions(distribution: Numbers, shown: Numbers) -> Numbers:
    """The linear program of Figure 5: the f ≥ 0 with sum 1 that explains best what counters show.

    Its cyclic convolution with `distribution` is as close as possible to `shown`.

    The program minimizes the largest difference. The printed program asks for differences up to a constant
    instead, and has no solution if the noise is larger.

    Args:
        distribution, shown: of the same length.

    Raises:
        ArithmeticError: the solver found no solution.
    """
    # Figure 5, Output: Σ f_i = 1, and q − slack ≤ N·f ≤ q + slack for the least slack.
    size = len(shown)
    residues = np.arange(size)
    convolution = distribution[(residues[:, None] - residues[None, :]) % size]
    slack = np.ones((size, 1))
    solution = scipy.optimize.linprog(
        c=np.append(np.zeros(size), 1.0),
        A_ub=np.block([[convolution, -slack], [-convolution, -slack]]),
        b_ub=np.concatenate([shown, -shown]),
        A_eq=np.append(np.ones(size), 0.0)[None, :],
        b_eq=[1.0],
        bounds=(0, None),
        method="highs",
    )
    if solution.x is None:
        raise ArithmeticError(f"the linear program was not solved: {solution.message}")
    found = np.maximum(solution.x[:size], 0.0)
    return np.asarray(found / found.sum())


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
        most = math.floor(LARGEST_AMPLIFICATION / math.log10(2 * self.k / self.epsilon))  # draws of noise
        if self.announced_intrusions + 1 > most:
            raise FieldError(
                "announced_intrusions",
                f"must be at most {most - 1} for this ε and k, not {self.announced_intrusions}: after more, "
                "nothing could be read from the counters",
            )


class ModIncidence(UserLevelStatistic[ModIncidenceParameters]):
    """A counter modulo k per item, which starts at noise.

    State: `counters`, one per cell, 0..k − 1. Result: how many counters show each value, with discrete
    Laplace noise of scale 2/ε on each of the k numbers, because one item can move two of them by 1. Then the
    mean effect of the counters' own noise is inverted, which is unbiased. The projection is the solution of
    the linear program: fractions that are not negative and have sum 1.

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
        # Figure 5, Init: noise values with probabilities in proportion to e^{−ε·i/(k − 1)}.
        counters = self._noise.draw(self.parameters.table_size, random_source).astype(np.int16)
        return StreamState(self.statistic, arrays={"counters": counters})

    def count_item(self, state: StreamState, cell: int) -> tuple[()]:
        # Figure 5, Processing: the item's counter goes up by 1 modulo k.
        counters = state.arrays["counters"]
        counters[cell] = (counters[cell] + 1) % self.parameters.k
        return ()

    def count_batch(self, state: StreamState, cells: NDArray[np.int64]) -> tuple[()]:
        counters = state.arrays["counters"]
        seen, appearances = np.unique(cells, return_counts=True)
        counters[seen] = (counters[seen] + appearances) % self.parameters.k
        return ()

    def announce_intrusion(self, state: StreamState, random_source: random.Random) -> None:
        count_announcement(state, self.parameters.announced_intrusions)
        counters = state.arrays["counters"]
        fresh = self._noise.draw(self.parameters.table_size, random_source)
        counters[:] = (counters + fresh) % self.parameters.k

    def noisy_counts(self, state: StreamState, random_source: random.Random) -> NDArray[np.int64]:
        """How many counters show 0, 1, …, k − 1."""
        # Figure 5, Output: the vector s of counter values, and q, the same with noise on each entry.
        counts = np.bincount(state.arrays["counters"], minlength=self.parameters.k)
        return with_laplace_noise(counts, self._output_scale, random_source)

    def estimate(
        self, state: StreamState, random_source: random.Random, confidence: float = CONFIDENCE
    ) -> Estimate:
        parameters = self.parameters
        noises = state.announced_intrusions + 1
        error_bound = self._error_bound(noises, confidence)
        shown = self.noisy_counts(state, random_source) / parameters.table_size
        # N⁻¹·q, which is unbiased, and the solution of the linear program.
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
        """By how much an error of the counters' fractions can be larger in the result. It is the largest sum
        of absolute values in a row of the inverse, coth(ε/(2(k − 1))) to the power of the intrusions."""
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

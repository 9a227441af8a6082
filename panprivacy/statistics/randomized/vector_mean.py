"""The mean of vectors of length at most 1, by noise that a cohort shares: SAA Examples 3 and 5, with whole
numbers, and the proof of section 4.5.

1. A device shortens its vector to length 1 (`_clipped`).
2. It rotates it by a public random rotation, which spreads the length evenly over the coordinates
   (`Rotation`).
3. It rounds each coordinate up or down to the lattice of multiples of 2^(1 − b), at random and without bias
   (`VectorMean.rounded`).
4. It adds discrete Gaussian noise to each coordinate: its part of the noise that protects the sum
   (`VectorMean.randomize`). With a proof that the result is not too long, two servers add the coordinates up
   as shares.
5. The sum is divided by the number of reports and turned back (`VectorMean.debiased`).
"""

import hashlib
import math
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from typing import Self

import numpy as np
from numpy.typing import NDArray

from panprivacy.accounting.discrete_gaussian_sum import WIDE, variance
from panprivacy.accounting.discrete_gaussian_vector import DiscreteGaussianVector
from panprivacy.accounting.epsilon_delta import AdditionalDelta
from panprivacy.accounting.guarantees import NONE_HOLDS, Guarantee, Model, Relation
from panprivacy.accounting.interface import PrivacyEvent
from panprivacy.formats.display import plain
from panprivacy.formats.errors import FieldError
from panprivacy.formats.parameters import EPSILON, as_typed, described
from panprivacy.formats.tls_messages import Message
from panprivacy.protocols.prio3.prio3 import L2_BOUND_SUM
from panprivacy.statistics.events import discrete_gaussian
from panprivacy.statistics.events.assumptions import FOLLOWS_PROTOCOL
from panprivacy.statistics.events.cohort import Release, require_population
from panprivacy.statistics.intervals import exact
from panprivacy.statistics.intervals.estimate import LEVELS, Estimate, Interval, normal_factor
from panprivacy.statistics.intervals.noisy_total import NoisyTotal
from panprivacy.statistics.randomized.interface import Randomizer, RandomizerParameters
from panprivacy.statistics.robustness import Robustness

_SCALE_UNIT = 1_000_000  # derived scales are multiples of 1/_SCALE_UNIT

_BEYOND_SHARE = 2.0**-10
"""Part of δ reserved for the effect of bounding the noise; see `VectorMeanParameters.largest_noise`."""

_BEYOND = 2.0**-70
"""Times δ: the probability that any coordinate's noise in a cohort is out of bounds, and again that any
report is too long."""

_CLIPPED = 1e-12
"""Probability over the rotation's signs that a vector has a coordinate which is clipped."""

_STEPS_OF_NOISE = 64.0
_COARSE_STEPS_OF_NOISE = 16.0
"""How many steps make a standard deviation of the noise: of the means that are tested, and of estimates."""

_MOST_KEPT = 0.9
"""Of what may fail: see `VectorMean.kept_for_noise`."""

_DECIMAL = re.compile(r"\s*[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?\s*", re.ASCII)
"""A number as CSV files have it."""

_WITHIN = 1 - 2.0**-40
"""Longer vectors are shortened to this, so that no rounding error makes one longer than 1."""

Vector = NDArray[np.float64]

_DOMAIN = b"panprivacy rotation 1"


class Rotation:
    """x ↦ H·diag(±1)·(0, x, 0, …)/√D, filled up to D = 2^m coordinates, H the Hadamard matrix.

    It keeps lengths and angles. Place 0 stays free: what is added to all rotated coordinates alike, e.g. an
    offset, turns back to this place and to no other.

    Over random signs, each coordinate of a rotated x is a sum of independent terms ±x_i/√D. So by Hoeffding
    (1963, Theorem 2) it is above c·‖x‖₂/√D in magnitude with probability at most 2·exp(−c²/2).

    Attributes:
        dimension: d, coordinates of a vector.
        padded: D, the smallest power of two above d: coordinates of a rotated one.
    """

    def __init__(self, dimension: int, seed: int) -> None:
        """
        Args:
            dimension: at least 1.
            seed: of the signs, from 0, below 2^64: public, and chosen independently of the values.
        """
        self.dimension = dimension
        self.padded = padded_length(dimension)
        drawn = hashlib.shake_256(_DOMAIN + seed.to_bytes(8, "big")).digest(-(-dimension // 8))
        bits = np.unpackbits(np.frombuffer(drawn, np.uint8))[:dimension]
        self._signs = 1.0 - 2.0 * bits.astype(np.float64)

    def rotated(self, vector: Sequence[float] | Vector) -> Vector:
        """D coordinates of a vector of d."""
        filled = np.zeros(self.padded)
        filled[1 : self.dimension + 1] = self._signs * np.asarray(vector, np.float64)
        return _hadamard(filled) / math.sqrt(self.padded)

    def turned_back(self, rotated: Vector) -> Vector:
        """The inverse: the d coordinates. Those that were filled in are left out."""
        return self._signs * _hadamard(rotated)[1 : self.dimension + 1] / math.sqrt(self.padded)


def squares_bound(squared_length: int, padded: int, scale: float, log_tail: float) -> int:
    """B: ‖z + X‖² is above it with probability at most e^(−`log_tail`), X discrete Gaussian of scale s.

    E[exp(λ(z + X)²)] ≤ (1 − 2λs²)^(−1/2)·exp(λz²/(1 − 2λs²)) for one coordinate, because E[exp(tX)] ≤
    exp(t²s²/2) for each t, also for t = √(2λ)·G with a normal G. So the moment generating function is at most
    that of a noncentral χ², and its tail bound holds (Birgé 2001, Lemma 8.1).

    Args:
        squared_length: L, the largest ‖z‖².
        padded: D, coordinates.
        scale: s.
        log_tail: above 0.
    """
    variance = scale * scale  # rounded alike on all platforms, unlike a power: servers must agree on B
    spread = 2 * math.sqrt((2 * squared_length + padded * variance) * variance * log_tail)
    return squared_length + math.ceil(padded * variance + spread + 2 * variance * log_tail)


def padded_length(dimension: int) -> int:
    """D for d coordinates: the smallest power of two above d ≥ 1."""
    return 1 << dimension.bit_length()


def _hadamard(vector: Vector) -> Vector:
    """H·x, in D·log₂ D additions."""
    half = 1
    while half < len(vector):
        pairs = vector.reshape(-1, 2, half)
        vector = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], axis=1).reshape(-1)
        half *= 2
    return vector


@dataclass(frozen=True, kw_only=True)
class VectorMeanParameters(RandomizerParameters):
    """The parameters of every randomizer, the vectors and their lattice, and the noise for ε and δ."""

    epsilon: float = described(
        **{
            **EPSILON,
            "help": "Of the published result, under replacement of a vector. A smaller ε protects a device "
            "more and makes the result less precise. Single reports are protected less.",
        }
    )
    dimension: int = described(
        label="Dimension (d)",
        help="Number of coordinates of a device's vector.",
        minimum=1,
        maximum=1_000,
    )
    bits: int = described(
        label="Bits per coordinate (b)",
        help="Coordinates are rounded to multiples of 2^(1 − b): more bits cost bandwidth, fewer add noise.",
        minimum=2,
        maximum=14,
        default=10,
    )
    rotation: int = described(
        label="Rotation",
        help="Any number, chosen before devices have values: the public random rotation follows from it.",
        minimum=0,
        maximum=2**32 - 1,
        default=0,
    )
    noise_scale: float | None = described(
        label="Noise scale (s)",
        help="Of the discrete Gaussian that each device adds to each coordinate, in steps of the lattice.",
        minimum=WIDE,
        maximum=discrete_gaussian.LARGEST_MAGNITUDE,
        derived=True,
        default=None,
    )

    def __post_init__(self) -> None:
        """Raises FieldError, also if the noise is wider than devices can draw."""
        super().__post_init__()
        if self.noise_scale is not None and self.largest_noise > discrete_gaussian.LARGEST_MAGNITUDE:
            raise self._too_much_noise()

    @property
    def padded(self) -> int:
        """D, coordinates of a rotated vector."""
        return padded_length(self.dimension)

    @property
    def steps_to_one(self) -> int:
        """γ = 2^(b − 1): how many steps of the lattice make a length of 1."""
        return 1 << (self.bits - 1)

    @property
    def squared_length(self) -> int:
        """The largest ‖z‖₂² of a rotated vector y in steps, ‖y‖₂ ≤ γ, after stochastic rounding.

        |z_j| < |y_j| + 1 if z_j is not 0, so w_j = max(0, |z_j| − 1) has ‖w‖₂ ≤ γ. Hence
        ‖z‖₂² ≤ Σ(w_j + 1)² = ‖w‖₂² + 2·Σw_j + D ≤ γ² + 2·⌊γ·√D⌋ + D, because Σw_j is a whole number. Nor is
        any coordinate above `largest_coordinate`.
        """
        steps = self.steps_to_one
        ball = steps**2 + 2 * math.isqrt(steps**2 * self.padded) + self.padded
        return min(ball, self.padded * self.largest_coordinate**2)

    def sensitivity(self, relation: Relation) -> float:
        """The largest Euclidean distance between two rounded vectors, in steps, rounded up: of any two
        vectors, or of one and the zero vector, which is never rounded."""
        length = math.sqrt(self.squared_length) * (1 + 1e-15)
        return length if relation is Relation.ADD_REMOVE else 2 * length

    @property
    def largest_coordinate(self) -> int:
        """The largest |z_j| in steps, after clipping: ⌈γ·min(1, c/√D)⌉, c = √(2·ln(2·D/1e-12)).

        By Hoeffding, a vector has a rotated coordinate beyond c/√D with probability at most 1e-12 over the
        signs (see `Rotation`).
        """
        reach = math.sqrt(2 * math.log(2 * self.padded / _CLIPPED) / self.padded)
        return math.ceil(self.steps_to_one * min(1.0, reach))

    @property
    def largest_noise(self) -> int:
        """t: noise is drawn within −t..t. N_Z(0, s²) is outside with probability below δ·2^−70/(n·D).

        By Chernoff, Pr[|X| ≥ t + 1] ≤ 2·exp(−(t + 1)²/(2s²)), as for a mean of numbers. The sum of a cohort
        of n is then within β = δ·2^−70 of one with the whole noise in total variation, and within 2β with
        `largest_squares`. That costs at most 2·(1 + e^ε)·β + 2β of δ: less than δ·2^−10 for ε ≤ 40.
        FieldError while s has not been derived.
        """
        log_probability = math.log(self.delta * _BEYOND) - math.log(self.cohort_size * self.padded)
        scale = self.required_noise_scale
        return max(0, math.ceil(scale * math.sqrt(2 * (math.log(2) - log_probability))) - 1)

    @property
    def offset(self) -> int:
        """M: reports have z_j + noise + M, from 0 to 2M."""
        return self.largest_coordinate + self.largest_noise

    @property
    def largest_squares(self) -> int:
        """B, the largest ‖z + noise‖₂² of a report in steps: more has probability at most τ = δ·2^−70/n.

        FieldError while s has not been derived.
        """
        log_tail = math.log(self.cohort_size) - math.log(self.delta * _BEYOND)
        ball = squares_bound(self.squared_length, self.padded, self.required_noise_scale, log_tail)
        return min(ball, self.padded * self.offset**2)

    @property
    def beyond_delta(self) -> float:
        """The part of δ that is set aside for noise beyond `largest_noise` and `largest_squares`."""
        return self.delta * _BEYOND_SHARE

    @property
    def required_noise_scale(self) -> float:
        """`noise_scale`, or FieldError while it has not been derived."""
        if self.noise_scale is None:
            raise FieldError("noise_scale", "has not been derived yet; use what `calibrated()` returns")
        return self.noise_scale

    def noise(self, scale: float, n: int, relation: Relation = Relation.REPLACE) -> DiscreteGaussianVector:
        """The sum of n devices with noise of this scale, as an event."""
        return DiscreteGaussianVector(
            n=n, scale=scale, sensitivity=self.sensitivity(relation), dimension=self.padded
        )

    def keeps_promise(self, scale: float) -> bool:
        """Whether a cohort's noise of this scale gives ε and δ."""
        return self.noise(scale, self.cohort_size).delta(self.epsilon) <= self.delta - self.beyond_delta

    def calibrated(self) -> Self:
        """With the smallest noise scale of at least 2 steps that keeps the promise, rounded up to 6 decimals.

        FieldError if that is more noise than devices can draw.
        """
        low, high = int(WIDE) * _SCALE_UNIT - 1, int(WIDE) * _SCALE_UNIT
        while not self.keeps_promise(high / _SCALE_UNIT):
            low, high = high, 2 * high
            if low > discrete_gaussian.LARGEST_MAGNITUDE * _SCALE_UNIT:
                raise self._too_much_noise()
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self.keeps_promise(middle / _SCALE_UNIT) else (middle, high)
        if high > discrete_gaussian.LARGEST_MAGNITUDE * _SCALE_UNIT:
            raise self._too_much_noise()
        return replace(self, noise_scale=high / _SCALE_UNIT)

    def _too_much_noise(self) -> FieldError:
        return FieldError(
            "epsilon",
            "asks for more noise than devices can draw; raise ε, δ or the cohort size, or lower bits",
        )


class VectorMean(Randomizer[VectorMeanParameters, tuple[float, ...]]):
    """Clip to length 1, rotate, round to the lattice, add noise; two servers add up the coordinates.

    Rounding is stochastic and the noise symmetric, so the estimate is unbiased except for a vector that is
    clipped: one longer than 1, which counts as shortened to 1, or one that gets a large coordinate by the
    rotation, which happens with probability 1e-12. The projection is the closest vector of length at most 1.

    All methods but `labels`, `value_of` and `truth` raise FieldError while the noise scale has not been
    derived.
    """

    statistic = "vector_mean"
    title = "Mean of vectors"
    description = (
        "Estimates the mean of vectors of d numbers; vectors longer than 1 unit (Euclidean) are shortened."
    )
    unit = "units"
    parameters_class = VectorMeanParameters
    scalar = False
    coordinates = True
    vdaf_type = L2_BOUND_SUM
    release_relations = (Relation.REPLACE, Relation.ADD_REMOVE)

    def __init__(self, parameters: VectorMeanParameters) -> None:
        super().__init__(parameters)
        self.columns = tuple(f"x{place}" for place in range(1, parameters.dimension + 1))

    @property
    def labels(self) -> tuple[str, ...]:
        return self.columns

    @property
    def largest(self) -> float:
        return 1.0

    @cached_property
    def _rotation(self) -> Rotation:
        return Rotation(self.parameters.dimension, self.parameters.rotation)

    # For the device ------------------------------------------------------------

    def value_of(self, cells: Sequence[str]) -> tuple[float, ...]:
        if len(cells) != len(self.columns):
            raise FieldError("value", f"must be {len(self.columns):,} numbers, not {len(cells):,}")
        return tuple(map(_number, self.columns, cells))

    def randomize(self, value: tuple[float, ...], random_source: random.Random) -> tuple[int, ...]:
        parameters, rounded = self.parameters, self.rounded(value, random_source)
        scale, largest = Fraction(parameters.required_noise_scale), parameters.largest_noise
        longest = parameters.largest_squares
        while True:
            noisy = [whole + discrete_gaussian.sample(scale, largest, random_source) for whole in rounded]
            if sum(entry * entry for entry in noisy) <= longest:
                return tuple(entry + parameters.offset for entry in noisy)

    def rounded(self, value: Sequence[float], random_source: random.Random) -> tuple[int, ...]:
        """The clipped and rotated vector in steps, each coordinate rounded up or down at random: unbiased.

        Its squared length is at most `squared_length`: `_WITHIN` leaves a margin for the rounding errors of
        the rotation, whose additions are at most ten deep.
        """
        reach, steps = self.parameters.largest_coordinate, self.parameters.steps_to_one
        exact = steps * self._rotation.rotated(_clipped(value))
        below = np.floor(np.clip(exact, -reach, reach))
        up = [random_source.random() < rest for rest in (np.clip(exact, -reach, reach) - below).tolist()]
        return tuple(int(whole) + more for whole, more in zip(below.tolist(), up, strict=True))

    # For the server ------------------------------------------------------------

    @property
    def vdaf_message(self) -> Message:
        # Imported here, because devices of other recipes do not need it.
        from panprivacy.protocols.dap.vdafs import Prio3L2BoundSumConfig

        parameters, length = self.parameters, self.contribution_length
        # Proofs are shortest near the square root of what they check.
        chunk = math.isqrt(length * self.allowed_values[-1].bit_length() - 1) + 1
        return Prio3L2BoundSumConfig(length, parameters.offset, parameters.largest_squares, chunk)

    @property
    def allowed_values(self) -> range:
        return range(2 * self.parameters.offset + 1)

    @property
    def contribution_length(self) -> int:
        return self.parameters.padded

    @property
    def robustness(self) -> Robustness:
        parameters = self.parameters
        longest = math.sqrt(parameters.largest_squares) / parameters.steps_to_one
        length = 2 * longest / parameters.cohort_size
        return Robustness(
            each=length,
            together=length * math.sqrt(parameters.dimension),
            sentence=(
                "Each report proves to both servers that the vector with its noise is at most "
                f"{math.ceil(100 * longest) / 100:,.2f} units long. An honest report would be longer with "
                "probability below δ·2^−70, and is then drawn again. How far a dishonest device moves the "
                f"mean is stated for a cohort of {parameters.cohort_size:,}; more reports make it less."
            ),
        )

    def estimate(self, total: Sequence[int], reports: int) -> Estimate:
        self.require_total(total, reports)
        rate, values = self.parameters.sampling_rate, self.debiased(total, reports)
        intervals = self._intervals(total, reports)
        # Coordinates vary most if their mean is 0: the means in the widest interval that are closest to it.
        low, high = np.array(intervals[0].low, float), np.array(intervals[0].high, float)
        closest = np.clip(0.0, low, high)
        spread = (1 - closest**2) * (1 - rate)
        note = "Includes rounding and the noise that devices add; every device was asked to take part."
        if rate < 1:
            note = (
                "Includes rounding, the noise that devices add and the random choice of participating "
                "devices, the latter as an upper bound: the largest variance of coordinates in −1..1 with a "
                "mean in the interval."
            )
        errors = np.sqrt((self._variance + spread) / reports).tolist()
        return Estimate(
            values=values,
            standard_errors=self._standard_errors(errors, total, reports),
            standard_error_note=self._error_note(note),
            projection=tuple(_shortened(np.array(values), 1.0).tolist()),
            intervals=intervals,
        )

    def debiased(self, total: Sequence[int], reports: int) -> tuple[float, ...]:
        offset, unit = self.parameters.offset, reports * self.parameters.steps_to_one
        # Whole numbers first, so that no offset of a large cohort costs digits. What noise in the number of
        # reports leaves of the offsets is alike everywhere, and turns back to no coordinate.
        rotated = np.array([(entry - reports * offset) / unit for entry in total])
        return tuple(self._rotation.turned_back(rotated).tolist())

    def _intervals(self, total: Sequence[int], reports: int) -> tuple[Interval, ...]:
        """By exact tests for each coordinate (`sums`)."""
        sums, values = self.sums(reports), np.array(self.debiased(total, reports))
        # Of a thousand coordinates many then have the same number.
        deviation = math.sqrt(reports) * sums.noise_scale
        coarse = max(1, int(deviation / _COARSE_STEPS_OF_NOISE))
        seen = coarse * np.round((values + 1) / 2 * sums.most / coarse).astype(np.int64)
        possible = np.clip(values, -1.0, 1.0).tolist()
        together = len(values) / (1 - self.kept_for_noise)
        return tuple(
            _coordinates(found, sums.most).reaching(possible)
            for found in exact.intervals(sums, seen.tolist(), sums.most, together=together)
        )

    @property
    def kept_for_noise(self) -> float:
        """Part of what may fail that is kept for noise in the number of reports.

        Tests take as many for granted as are shown. If those are off by a part x, so is the deviation of a
        coordinate by x/2, and a tail at z deviations grows by exp(z²·x/2). The noise is Laplace's with the
        deviation 1/√(2B) of the cohort, so tails grow by 1/(1 − z⁴/(16·B)) on average.
        """
        if not self.noisy_count:
            return 0.0
        factor = normal_factor(1 - LEVELS[0], self.parameters.dimension)
        return min(_MOST_KEPT, factor**4 / (16 * self.cohort_size))

    def sums(self, reports: int) -> NoisyTotal:
        """The sum of (x + 1)/2 over this number of reports, for a coordinate x: its distribution.

        As if devices had −1 or 1 there: then it varies most with which devices take part. The noise of all
        rotated coordinates makes normal noise of one that is turned back. Numbers are counted in steps so
        fine that the noise's standard deviation has at least `_STEPS_OF_NOISE`.
        """
        noise = math.sqrt(self._variance) / 2
        steps = math.ceil(max(1.0, _STEPS_OF_NOISE / math.sqrt(reports)) / noise)
        return NoisyTotal(
            reports=reports,
            largest_number=steps,
            noise_scale=noise * steps,
            sampling_rate=self.parameters.sampling_rate,
            rule=self._rule_for(reports),
            zero=steps / 2,
        )

    @property
    def _variance(self) -> float:
        """Of what one report adds to a coordinate, less the value itself: noise, and rounding at most.

        The same for all coordinates before and after turning back, because errors are independent.
        """
        return (variance(self.parameters.required_noise_scale) + 0.25) / self.parameters.steps_to_one**2

    def truth(self, devices_by_value: Mapping[tuple[float, ...], int]) -> tuple[float, ...]:
        """Raises ValueError for an empty population, which has no mean."""
        population = sum(devices_by_value.values())
        if population < 1:
            raise ValueError("a population without devices has no mean")
        total = np.zeros(self.parameters.dimension)
        for value, devices in devices_by_value.items():
            total += devices * _clipped(value)
        return tuple((total / population).tolist())

    # For the accountant --------------------------------------------------------

    def require_promise(self) -> None:
        """As for every statistic of a cohort; also if the noise is too small for ε and δ."""
        self._require_noise()
        super().require_promise()

    def _require_noise(self) -> None:
        parameters = self.parameters
        scale = parameters.required_noise_scale
        if not parameters.keeps_promise(scale):
            raise FieldError(
                "noise_scale",
                f"{scale:g} is too small for the guarantee that the recipe promises, with "
                f"ε = {parameters.epsilon:g} and δ = {plain(parameters.delta)}",
            )

    def _release(self, n: int) -> PrivacyEvent:
        return self._release_under(Relation.REPLACE, n)

    def _release_under(self, relation: Relation, n: int) -> PrivacyEvent:
        parameters = self.parameters
        noise = parameters.noise(parameters.required_noise_scale, n, relation)
        return AdditionalDelta(event=noise, probability=parameters.beyond_delta)

    def _releases(self) -> tuple[Release, ...]:
        # Without the random choice of devices, adding and removing moves half as far as replacing; with it,
        # the number for replacing bounds both.
        return tuple(
            Release((relation,), partial(self._release_under, relation))
            for relation in self.release_relations
        )

    def open_guarantees(self) -> tuple[Guarantee, ...]:
        """The promised guarantee first. Raises FieldError if the noise scale does not keep it."""
        self._require_noise()
        return (*self.release_guarantees(), *self.local_guarantees())

    def local_guarantees(self) -> tuple[Guarantee, ...]:
        return tuple(self._local(relation) for relation in self.release_relations)

    def _local(self, relation: Relation) -> Guarantee:
        """Of one report, if its bounded noise reaches far enough beyond what a vector can change.

        Two neighbours' reports have the whole noise's probabilities within both bounds, up to the factor
        1/(1 − β); the bound on squares is the same for both. One lies outside of the other's bounds only if
        its noise is above t − 2·`largest_coordinate` in one of D coordinates. If that is likelier than what
        is set aside, there is no ε for this δ.
        """
        parameters = self.parameters
        scale = parameters.required_noise_scale
        inside = parameters.largest_noise - 2 * parameters.largest_coordinate
        outside = parameters.padded * 2 * math.exp(-(max(0, inside) ** 2) / (2 * scale**2))
        epsilon = None
        source = f"The noise of one report is bounded, and too small to hide a vector: {NONE_HOLDS}."
        if 2 * outside <= parameters.beyond_delta:
            epsilon = self._release_under(relation, 1).epsilon(parameters.delta)
            source = (
                f"One discrete Gaussian of scale {scale:g} for each coordinate, as rounded continuous ones."
            )
        return Guarantee(
            model=Model.LOCAL,
            relation=relation,
            epsilon=epsilon,
            delta=None if epsilon is None else parameters.delta,
            source=source,
            assumption=FOLLOWS_PROTOCOL,
        )

    def expected_standard_error(self, population: int) -> float:
        """The worst case over the truth. All of a coordinate's variance is left to the choice of devices, or
        to the noise in the number of reports, by which a coordinate of 1 is divided."""
        require_population(population)
        rate = self.parameters.sampling_rate
        reports = population * rate
        of_count = self.release_rule.noise_deviation**2 / reports
        return math.sqrt((self._variance + max(1 - rate, of_count)) / reports)


def _coordinates(found: Interval, most: int) -> Interval:
    """From steps of (x + 1)/2 to x, one step further on either side: truths lie between the steps."""

    def moved(ends: Sequence[float | None], by: int) -> tuple[float | None, ...]:
        return tuple(None if end is None else min(max(2 * (end + by) / most - 1, -1.0), 1.0) for end in ends)

    return Interval(found.level, moved(found.low, -1), moved(found.high, 1))


def _number(column: str, cell: str) -> float:
    # float() also takes underscores and the digits of all scripts, which other readers of the file do not.
    number = float(cell) if isinstance(cell, str) and _DECIMAL.fullmatch(cell) else math.nan
    if not math.isfinite(number):
        raise FieldError(column, f"must be a finite number, not {as_typed(cell)}")
    return number


def _clipped(vector: Sequence[float]) -> Vector:
    return _shortened(np.asarray(vector, np.float64), _WITHIN)


def _shortened(vector: Vector, longest: float) -> Vector:
    """The closest vector of length at most `longest`."""
    largest = float(np.abs(vector).max())
    if largest == 0:
        return vector
    unit = vector / largest  # so that no square overflows
    length = float(np.linalg.norm(unit))
    return vector if largest * length <= longest else unit * (longest / length)

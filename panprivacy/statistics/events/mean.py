"""The mean number of events per device, counts above k taken as k (LPP Algorithm 4, Theorem 13)."""

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Self

from panprivacy.accounting.discrete_gaussian_sum import (
    SMALLEST_EPSILON,
    DiscreteGaussianSum,
    delta_of,
    epsilon_of,
    smallest_scale,
    variance,
)
from panprivacy.accounting.epsilon_delta import AdditionalDelta, EpsilonDelta
from panprivacy.accounting.guarantees import Guarantee, Model, Relation
from panprivacy.accounting.interface import PrivacyEvent
from panprivacy.encryption.interface import PublicKey, SchemeKey
from panprivacy.formats.display import plain
from panprivacy.formats.errors import FieldError
from panprivacy.formats.parameters import K, Parameters, described
from panprivacy.statistics.events import discrete_gaussian
from panprivacy.statistics.events.assumptions import FOLLOWS_PROTOCOL, pan_privacy
from panprivacy.statistics.events.cohort import require_population
from panprivacy.statistics.events.interface import Mechanism, Report, State, require_count, require_step
from panprivacy.statistics.intervals.estimate import Estimate, Interval
from panprivacy.statistics.intervals.exact import intervals
from panprivacy.statistics.intervals.noisy_total import NoisyTotal

LARGEST_RANGE = 2**20
"""Number of values up to which a decryption can search."""

SMALLEST_SCALE = 0.04
"""Far below every scale that any ε ≤ 20 asks for; probabilities of a still smaller one underflow."""

_STEPS = 64
"""Steps of the mean for one event among all reports in exact tests, if devices are sampled."""

_SPREAD_FAILURE = 1e-3
"""The probability that numbers of devices vary more than their reports show, if only rare ones are large."""

_SCALE_UNIT = 1_000_000  # derived scales are multiples of 1/_SCALE_UNIT

_BEYOND_SHARE = Fraction(1, 2**20)
"""Part of δ reserved for the effect of bounding the noise; see `MeanParameters.largest_noise`."""


@dataclass(frozen=True, kw_only=True)
class MeanParameters(Parameters):
    """The parameters of every statistic, the largest count, the promised guarantee, and the noise derived
    from it."""

    k: int = described(
        **{**K, "label": "Largest count (k)", "help": "In events per device; higher counts are taken as k."}
    )
    guarantee: str = described(
        label="Guarantee",
        help="Against whom ε and δ hold: readers of one report (local) or of the result (aggregator).",
        choices=(Model.LOCAL.value, Model.AGGREGATOR.value),
    )
    noise_scale: float | None = described(
        label="Noise scale (s)",
        help="Of the discrete Gaussian noise that each device adds, in events.",
        minimum=SMALLEST_SCALE,
        maximum=LARGEST_RANGE,
        derived=True,
        default=None,
    )

    def __post_init__(self) -> None:
        """Raises FieldError, also if reports could take more than `LARGEST_RANGE` values."""
        super().__post_init__()
        if self.noise_scale is not None:
            values = 2 * self.largest_noise + self.k + 1
            if values > LARGEST_RANGE:
                raise FieldError(
                    "epsilon",
                    f"asks for noise of scale {self.noise_scale:g}, so that reports take {values:,} values, "
                    f"but at most {LARGEST_RANGE:,} can be decrypted; raise ε or δ, or lower k",
                )

    @property
    def noise_terms(self) -> int:
        """Number of noise terms behind which the promised guarantee hides a device."""
        return 1 if self.guarantee == Model.LOCAL else self.cohort_size

    @property
    def largest_noise(self) -> int:
        """t: noise is drawn within −t..t. Outside, N_Z(0, s²) has less than δ·2^−60/cohort_size.

        N_Z(0, s²) is sub-Gaussian with variance proxy s²: E e^{θX} = e^{θ²s²/2}·Z(θs²)/Z(0) ≤ e^{θ²s²/2}. For
        Z(μ) = Σ exp(−(x−μ)²/(2s²)) is largest at integers by Poisson summation (Canonne, Kamath & Steinke
        2020, section 3). By Chernoff, Pr[|X| ≥ t + 1] ≤ 2·exp(−(t+1)²/(2s²)).

        Noise within −t..t is what a device can draw with a table (`discrete_gaussian`), and a server decrypt:
        a report outside is replaced by a random one. The sum of a cohort is then within δ·2^−60 of one with
        the whole N_Z(0, s²) in total variation; the table's rounding adds far less. That lets the guarantee
        be computed for the whole: it costs less than (1 + e^ε)·2^−60 of δ, which `calibrated` sets aside.
        """
        scale = self.required_noise_scale
        log_probability = math.log(self.delta) - 60 * math.log(2) - math.log(self.cohort_size)
        return max(0, math.ceil(scale * math.sqrt(2 * (math.log(2) - log_probability))) - 1)

    @property
    def beyond_delta(self) -> float:
        """The part of δ that is set aside for noise beyond `largest_noise`."""
        return self.delta * float(_BEYOND_SHARE)

    @property
    def usable_delta(self) -> float:
        """The part of δ that the noise may use."""
        return self.delta - self.beyond_delta

    @property
    def required_noise_scale(self) -> float:
        """`noise_scale`, or FieldError while it has not been derived."""
        if self.noise_scale is None:
            raise FieldError(
                "noise_scale", "has not been derived yet; use the parameters that `calibrated()` returns"
            )
        return self.noise_scale

    def calibrated(self) -> Self:
        """With the smallest noise scale that keeps the promise, rounded up to 6 decimals.

        Raises FieldError if that is too much noise to decrypt.
        """
        if self.epsilon < SMALLEST_EPSILON:
            raise FieldError(
                "epsilon", f"must be at least {SMALLEST_EPSILON:g} for a mean, not {self.epsilon!r}"
            )
        usable_delta = self.usable_delta
        smallest = smallest_scale(self.noise_terms, self.k, self.epsilon, usable_delta)
        units = math.ceil(Fraction(smallest) * _SCALE_UNIT)
        while delta_of(self.noise_terms, units / _SCALE_UNIT, self.k, self.epsilon) > usable_delta:
            units += 1
        if units / _SCALE_UNIT > LARGEST_RANGE:
            raise FieldError("epsilon", "asks for more noise than can be decrypted; raise ε or δ, or lower k")
        return replace(self, noise_scale=units / _SCALE_UNIT)


class Mean(Mechanism[MeanParameters]):
    """The count, added up from encrypted indicators, plus discrete Gaussian noise.

    The state is (d_1, ..., d_k), d_j encrypting [count ≥ j]. Their sum is exactly min(count, k); the
    indicators c_i of the printed algorithm, and d_0, are not needed (docs/errata.md). The projection
    is the estimate's closest value in 0..k.

    All methods but `labels`, `truth` and `report_ciphertexts` raise FieldError while the noise scale has not
    been derived.
    """

    statistic = "mean"
    title = "Mean number of events per device"
    description = "Estimates the mean number of events per device; counts above k are taken as k."
    unit = "events per device"
    parameters_class = MeanParameters
    report_ciphertexts = 1
    theorem = "LPP Theorem 13"
    release_relations = (Relation.REPLACE, Relation.ADD_REMOVE)

    @property
    def state_ciphertexts(self) -> int:
        return self.parameters.k

    def start(self, public_key: PublicKey, random_source: random.Random) -> State:
        # Algorithm 5, lines 3 to 5, for the d_i alone: d_i = Enc(0) for i = 1..k. d_0 is always 1: not kept.
        return self.state_of_count(public_key, 0, 0, random_source)

    def step(
        self, public_key: PublicKey, state: State, event: int, step: int, random_source: random.Random
    ) -> State:
        self._scale()
        require_step(self.parameters, step)
        self._require_state(state)
        new = list(state)
        # Algorithm 5, lines 8 to 17, for the d_i alone: Φ(d_{i−1}) if there is an event, else Φ(d_i).
        # From d_k down to d_2 (errata): each predecessor is read first and overwritten afterwards.
        for i in range(self.parameters.k - 1, 0, -1):
            new[i] = public_key.rerandomize(new[i - 1] if event else new[i], random_source)
        # d_1 takes the value of d_0: Φᵗ(Enc(1)).
        new[0] = public_key.replace_or_rerandomize(
            bool(event), 1, new[0], random_source, rerandomizations=step
        )
        return tuple(new)

    def report(self, public_key: PublicKey, state: State, random_source: random.Random) -> Report:
        self._require_state(state)
        if not isinstance(public_key, SchemeKey):
            raise TypeError("counts are added up under the key of one scheme")
        # Algorithm 4, lines 2 to 4: no i·c_i; the d_j are added as they are (errata).
        # Lines 5 and 6: Enc(r) with r ~ N_Z(0, s²), s for counts that differ by k (errata).
        noise = public_key.encrypt(
            self._noise(random_source),
            random_source,
            rerandomizations=self.parameters.steps,
        )
        # Line 7: the encrypted sum, rerandomized so that its summands cannot be recognized.
        return (public_key.rerandomize(public_key.add([*state, noise]), random_source),)

    def state_of_count(
        self, public_key: PublicKey, count: int, step: int, random_source: random.Random
    ) -> State:
        self._scale()
        require_count(self.parameters, count, step)
        return tuple(
            public_key.encrypt(int(count >= j), random_source, rerandomizations=step)
            for j in range(1, self.parameters.k + 1)
        )

    def report_of_count(self, public_key: PublicKey, count: int, random_source: random.Random) -> Report:
        steps = self.parameters.steps
        if not public_key.rerandomized_is_fresh:
            # Then a sum may be distinguishable from one ciphertext, so it has to be one.
            return self.report(
                public_key, self.state_of_count(public_key, count, steps, random_source), random_source
            )
        require_count(self.parameters, count, steps)
        # Algorithm 4 on the count in the clear: Σ d_j is min(count, k).
        noisy = min(count, self.parameters.k) + self._noise(random_source)
        return (public_key.encrypt(noisy, random_source),)

    def _noise(self, random_source: random.Random) -> int:
        # Algorithm 4, line 5, by a table of probabilities in constant steps (errata).
        return discrete_gaussian.sample(self._scale(), self.parameters.largest_noise, random_source)

    def _scale(self) -> Fraction:
        return Fraction(self.parameters.required_noise_scale)

    def _require_state(self, state: State) -> None:
        if len(state) != self.parameters.k:
            raise ValueError(f"a state has {self.parameters.k} ciphertexts, not {len(state)}")

    @property
    def allowed_values(self) -> range:
        """−t..k+t with t = `largest_noise`: no honest report is outside."""
        largest_noise = self.parameters.largest_noise
        return range(-largest_noise, self.parameters.k + largest_noise + 1)

    @property
    def _sums_squares(self) -> bool:
        """Whether contributions carry y² with y, to estimate how much counts vary between devices.

        Only a local guarantee covers the sum of squares (it is computed from reports, so it is
        post-processing); the aggregator number covers Σy alone. And only sampling asks for it.
        """
        return self.parameters.guarantee == Model.LOCAL and self.parameters.sampling_rate < 1

    @property
    def contribution_length(self) -> int:
        return 2 if self._sums_squares else 1

    def contribution(self, values: Sequence[int]) -> tuple[int, ...]:
        """(y,), or (y, y²) with a local guarantee and a sampling rate below 1."""
        self.require_values(values)
        (value,) = values
        return (value, value**2) if self._sums_squares else (value,)

    def estimate(self, total: Sequence[int], reports: int) -> Estimate:
        self.require_total(total, reports)
        (value,) = self.debiased(total, reports)
        projection = min(max(value, 0.0), float(self.parameters.k))
        noise = variance(float(self._scale()))
        note = "Includes the noise that devices add; every device was asked to take part."
        spread = 0.0
        most_spread = math.inf
        if self._sums_squares and reports > 1:
            # In integers: sums of squares of large noise would cancel badly in floating point.
            sample_variance = (reports * total[1] - total[0] ** 2) / (reports * (reports - 1))
            spread = min(max(sample_variance - noise, 0.0), projection * (self.parameters.k - projection))
            # The noise makes up for at most three standard errors of a normal sample's variance. What is left
            # is a sample's variance of numbers in 0..k: even if none is k, some devices may have k (Maurer &
            # Pontil 2009, Theorem 10).
            seen = max(sample_variance - noise, 0.0) + 3 * math.sqrt(2 / (reports - 1)) * sample_variance
            unseen = self.parameters.k * math.sqrt(-2 * math.log(_SPREAD_FAILURE) / (reports - 1))
            most_spread = (math.sqrt(seen) + unseen) ** 2
            note = (
                "Includes the noise that devices add and the random choice of participating devices, "
                "the latter from the variance of the reports less that of the noise."
            )
        found = tuple(
            interval.reaching((projection,)) for interval in self._intervals(total[0], reports, most_spread)
        )
        if self.parameters.sampling_rate < 1 and math.isinf(most_spread):
            # Counts vary most if their mean is k/2: the mean in the widest interval that is closest to it.
            ((low,), (high,)) = found[0].low, found[0].high
            middle = min(max(self.parameters.k / 2, low or 0.0), self.parameters.k if high is None else high)
            spread = middle * (self.parameters.k - middle)
            note = (
                "Includes the noise that devices add and the random choice of participating devices, "
                "the latter as an upper bound: the largest variance of counts in 0..k with a mean in the "
                "interval."
            )
        return Estimate(
            values=(value,),
            standard_errors=(math.sqrt((noise + (1 - self.parameters.sampling_rate) * spread) / reports),),
            standard_error_note=note,
            projection=(projection,),
            intervals=found,
        )

    def debiased(self, total: Sequence[int], reports: int) -> tuple[float, ...]:
        # The server takes the average (above Theorem 13).
        return (total[0] / reports,)

    def _intervals(self, total: int, reports: int, most_spread: float) -> tuple[Interval, ...]:
        rate = self.parameters.sampling_rate
        sums = NoisyTotal(
            reports=reports,
            largest_number=self.parameters.k,
            noise_scale=float(self._scale()),
            sampling_rate=rate,
            largest_spread=most_spread,
            steps=1 if rate == 1 else _STEPS,
        )
        return intervals(sums, (total,), sums.most, unit=1 / (reports * sums.steps))

    @property
    def labels(self) -> tuple[str, ...]:
        return (f"events per device (at most {self.parameters.k} counted)",)

    def truth(self, devices_by_count: Mapping[int, int]) -> tuple[float, ...]:
        """Raises ValueError for an empty population, which has no mean."""
        population = sum(devices_by_count.values())
        if population < 1:
            raise ValueError("a population without devices has no mean")
        total = sum(min(count, self.parameters.k) * devices for count, devices in devices_by_count.items())
        return (total / population,)

    def require_promise(self) -> None:
        """As for every mechanism; also if the noise does not keep the named guarantee."""
        self._require_noise()
        super().require_promise()

    def _require_noise(self) -> None:
        """FieldError if the noise scale is missing or too small for ε, δ and the named guarantee."""
        parameters = self.parameters
        scale = parameters.required_noise_scale
        found = delta_of(parameters.noise_terms, scale, parameters.k, parameters.epsilon)
        if found > parameters.usable_delta:
            raise FieldError(
                "noise_scale",
                f"{scale:g} is too small for the {parameters.guarantee} guarantee that the recipe promises, "
                f"with ε = {parameters.epsilon:g} and δ = {plain(parameters.delta)}",
            )

    def _release(self, n: int) -> PrivacyEvent:
        parameters = self.parameters
        if self._sums_squares:
            # Σy² is released too, which the exact sum does not cover. Every function of reports keeps the
            # guarantee of each of them.
            return EpsilonDelta(
                epsilon_given=parameters.epsilon,
                delta_given=parameters.delta,
                relation=Relation.REPLACE.value,
            )
        noise = DiscreteGaussianSum(n=n, scale=parameters.required_noise_scale, value_range=parameters.k)
        return AdditionalDelta(event=noise, probability=parameters.beyond_delta)

    def open_guarantees(self) -> tuple[Guarantee, ...]:
        """The promised guarantee first, then what the same noise gives elsewhere.

        Both relations move a count by at most k, so their numbers are equal. Raises FieldError if the noise
        scale does not keep the promise.
        """
        self._require_noise()
        parameters = self.parameters
        if parameters.guarantee == Model.LOCAL:
            return super().open_guarantees()
        # The scale is rounded up, so that the promise itself is what is stated.
        stated = [
            guarantee if guarantee.dishonest_fraction else replace(guarantee, epsilon=parameters.epsilon)
            for guarantee in self.release_guarantees()
        ]
        return (*stated, *self.local_guarantees(), pan_privacy(self.theorem))

    def local_guarantees(self) -> tuple[Guarantee, ...]:
        parameters = self.parameters
        scale = parameters.required_noise_scale
        # The scale is rounded up, so that the promise itself is what is stated.
        epsilon = parameters.epsilon
        if parameters.guarantee != Model.LOCAL:
            epsilon = epsilon_of(1, scale, parameters.k, parameters.usable_delta)
        return tuple(
            Guarantee(
                model=Model.LOCAL,
                relation=relation,
                epsilon=epsilon,
                delta=parameters.delta,
                source=f"Exact, for one discrete Gaussian of scale {scale:g}.",
                assumption=FOLLOWS_PROTOCOL,
            )
            for relation in self.release_relations
        )

    def expected_standard_error(self, population: int) -> float:
        """The worst case over the truth: half of the devices have no event, half have k or more."""
        require_population(population)
        rate = self.parameters.sampling_rate
        noise = variance(float(self._scale()))
        return math.sqrt((noise + (1 - rate) * self.parameters.k**2 / 4) / (population * rate))

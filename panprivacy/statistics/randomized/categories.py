"""How many devices have each of k categories: RAPPOR_K (SAA Examples 2 and 4, section 4.5).

1. A device writes its category as a vector of k places with one 1 (SAA Example 2).
2. It keeps each place or replaces it by a fair coin: a flip with p = 1/(e^ε + 1).
3. It draws again until the report has at most w ones, which servers check (SAA section 4.5).
4. The estimate takes the expected number of flipped places from the sum, and scales it (`debiased`).
"""

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np

from panprivacy.accounting import binomial
from panprivacy.accounting.composition import Repetition
from panprivacy.accounting.guarantees import Guarantee, Model, Relation
from panprivacy.accounting.interface import PrivacyEvent
from panprivacy.accounting.randomized_response_sum import RandomizedResponseSum
from panprivacy.accounting.rejection_sampling import RejectionSampling
from panprivacy.accounting.rounding import upwards
from panprivacy.formats.errors import FieldError
from panprivacy.formats.parameters import described
from panprivacy.formats.tls_messages import Message
from panprivacy.formats.value_labels import value_of
from panprivacy.statistics.events.assumptions import FOLLOWS_PROTOCOL
from panprivacy.statistics.events.cohort import Release, require_population
from panprivacy.statistics.events.one_hot import closest_histogram
from panprivacy.statistics.events.randomized_response import (
    RandomizedResponse,
    bits_expected_margin,
    bits_standard_error_note,
    expected_bits_error,
)
from panprivacy.statistics.interface import InvalidReportError, NamedValues, SizeBounds
from panprivacy.statistics.intervals.chernoff import largest_mean, largest_size, least_mean, least_size
from panprivacy.statistics.intervals.estimate import Estimate, Interval
from panprivacy.statistics.intervals.randomized_bits import RandomizedBits, intervals
from panprivacy.statistics.randomized.interface import Randomizer, RandomizerParameters
from panprivacy.statistics.robustness import Robustness

SLACK_SHARE = 1_000
"""The part of δ, as 1/…, that a whole cohort's reports may be too heavy with."""

_TINY = 1e-290
"""Below it, the error of a tail is not known."""

_ROUNDING = 1e-9
"""By how much two computers may differ in a tail, relatively."""

_WHOLE = 0.01
"""So near to a whole number lies a sum that is computed back from an estimate, of any number of reports."""


@dataclass(frozen=True, kw_only=True)
class CategoriesParameters(RandomizerParameters):
    """The parameters of every randomizer, the number of categories, and how many ones a report has at
    most."""

    k: int = described(
        label="Number of categories (k)",
        help="A device has one of them: a whole number from 0 to k − 1.",
        minimum=2,
        maximum=1_000,
    )
    max_weight: int | None = described(
        label="Most ones in a report (w)",
        help="Devices draw a report with more ones again, and servers refuse it.",
        minimum=1,
        maximum=1_000,
        derived=True,
        default=None,
    )

    @property
    def required_max_weight(self) -> int:
        """`max_weight`, or FieldError while it has not been derived."""
        if self.max_weight is None:
            raise FieldError("max_weight", "has not been derived yet; use what `calibrated()` returns")
        return self.max_weight

    def calibrated(self) -> Self:
        """With the smallest w for which cohort_size·Pr[W > w] is at most δ/`SLACK_SHARE`."""
        law = WeightLaw(RandomizedResponse(self.epsilon), self.k)
        low, high = 0, self.k
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self._is_rare(law.heavier(middle)) else (middle, high)
        return replace(self, max_weight=high)

    def _is_rare(self, heavier: float) -> bool:
        return self.cohort_size * heavier <= self.delta / SLACK_SHARE * (1 + _ROUNDING)

    def require_promise(self) -> None:
        """FieldError if reports are drawn again so often that guarantees for independent flips would not hold
        nearly, or if w is more than there are places."""
        weight = self.required_max_weight
        law = WeightLaw(RandomizedResponse(self.epsilon), self.k)
        if weight > self.k or not self._is_rare(law.heavier(weight)):
            smallest = self.calibrated().max_weight
            raise FieldError("max_weight", f"must be from {smallest} to {self.k}, not {weight}")


class WeightLaw:
    """The number of ones, W, in the first draw of a device's report: Bern(a) + Bin(k − 1, p).

    At the device's own place it is a one with a = p + π·(1 − 2p), if it counts with the rate π. For one rate
    the same for each value of the device. Every probability above 1e-280 is exact to a relative 1e-11, and a
    difference of two to 1e-15 of the larger; those that bound something are rounded to the safe side.
    """

    def __init__(self, response: RandomizedResponse, k: int, rate: float = 1.0) -> None:
        self.flip = response.flip_probability
        self.keep = 1 - self.flip
        self.own = self.flip + rate * response.keep_probability if rate < 1 else self.keep
        # 1 − a, computed directly: the difference would lose all digits if a is near 1.
        self.not_own = self.flip + (1 - rate) * response.keep_probability
        self.k = k

    def heavier(self, weight: int) -> float:
        """Pr[W > w], rounded up."""
        if weight >= self.k:
            return 0.0
        kept, flipped = self._upper(weight), self._upper(weight + 1)
        error = float(np.max(binomial.relative_error([weight, weight + 1], self.k - 1, self.flip)))
        return min(1.0, (self.own * kept + self.not_own * flipped) * (1 + 2 * error) + _TINY)

    def _upper(self, x: int) -> float:
        return float(binomial.upper_tail(x, self.k - 1, self.flip, self.keep))

    def accepted_bits(self, weight: int) -> tuple[float, float]:
        """The probabilities of a one, given W ≤ w ≥ 1, at another place and at the device's own."""
        accepted = self.own * self._lower(weight - 1, 1) + self.not_own * self._lower(weight, 1)
        present = self.own * self._lower(weight - 1, 1) / accepted
        both, alone = self._lower(weight - 2, 2), self._lower(weight - 1, 2)
        absent = self.flip * (self.own * both + self.not_own * alone) / accepted
        return absent, present

    def _lower(self, x: int, without: int) -> float:
        """Pr[Bin(k − without, p) ≤ x]."""
        return float(binomial.lower_tail(x, self.k - without, self.flip, self.keep)) if x >= 0 else 0.0


def rejection_epsilon(epsilon: float, probability: float) -> float:
    """ε of two reports whose first draws have it: ε − ln(1 − probability), rounded up. One of them is drawn
    again with at most this probability, and the other maybe never.

    The very same ε if nothing is drawn again, so that it is not stated larger than it is.
    """
    return upwards(epsilon - math.log1p(-probability)) if probability else epsilon


def ones_sentence(weight: int, k: int) -> str:
    """The effect of allowing at most `weight` ones in a report of k categories."""
    if weight >= k:
        return f"A report may have a one in each of the {k} categories: checking their number gains nothing."
    return (
        f"A report with more than {weight} ones is refused, so that a dishonest device adds to at most "
        f"{weight} of {k} categories, and takes from at most {weight}, to which an honest report would have "
        "added."
    )


class Categories(NamedValues, Randomizer[CategoriesParameters, int]):
    """One-hot of the device's category in k places, each flipped with p = 1/(e^ε + 1), at most w ones.

    A device draws again until its report has at most w ones. Because the number of ones has one law for all
    categories, one report stays exactly 2ε-private under replacement. The estimate is unbiased for the
    bits that result. The projection is the closest point (Euclidean) with no negative category and the sum
    reports/q.
    """

    statistic = "categories"
    title = "Devices by category"
    description = "Every device has one of k categories. Estimates how many devices have each."
    unit = "devices"
    parameters_class = CategoriesParameters
    scalar = False
    counts_devices = True
    rare_counterpart = "rare_categories"
    needs_proof = False
    allowed_values = range(2)
    dummy_obstacle = (
        "a report about no category is drawn again less often than the others, and no guarantee is computed "
        "for a sum with such reports"
    )

    def __init__(self, parameters: CategoriesParameters) -> None:
        super().__init__(parameters)
        self._response = RandomizedResponse(parameters.epsilon)
        self._law = WeightLaw(self._response, parameters.k)

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(map(self.label, range(self.parameters.k)))

    def label(self, position: int) -> str:
        return f"category {position}"

    def value_of(self, cells: Sequence[str]) -> int:
        (text,) = cells
        return value_of(text, self.parameters.k, self._numbers)

    def randomize(self, value: int, random_source: random.Random) -> tuple[int, ...]:
        if not 0 <= value < self.parameters.k:
            raise ValueError(f"value must lie in 0..{self.parameters.k - 1}, not {value}")
        weight = self.parameters.required_max_weight
        while True:
            bits = self._response.respond_one_hot(self.parameters.k, value, random_source)
            if sum(bits) <= weight:
                return bits

    @property
    def contribution_length(self) -> int:
        return self.parameters.k

    def contribution(self, values: Sequence[int]) -> tuple[int, ...]:
        """The values themselves; InvalidReportError `too_many_ones` for more than w of them."""
        self.require_values(values)
        weight = self.parameters.required_max_weight
        if sum(values) > weight:
            raise InvalidReportError(
                "too_many_ones", f"a report has at most {weight} ones, not {sum(values)}"
            )
        return tuple(values)

    def random_values(self, random_source: random.Random) -> tuple[int, ...]:
        """A report with a random place: uniform bits would nearly always be too many ones."""
        place = random_source.randrange(self.parameters.k)
        return tuple(int(place == other) for other in range(self.parameters.k))

    vdaf_type = 5

    @property
    def vdaf_message(self) -> Message:
        # Imported here, because devices of other recipes do not need it.
        from panprivacy.protocols.dap.vdafs import Prio3MultihotCountVecConfig

        # Proofs are shortest near the square root of what they check: the bits, and their number in digits.
        weight = self.parameters.required_max_weight
        checked = self.parameters.k + weight.bit_length()
        return Prio3MultihotCountVecConfig(self.parameters.k, math.isqrt(checked - 1) + 1, weight)

    @cached_property
    def _bits(self) -> tuple[float, float]:
        """The probabilities of a one at another place than the device's own, and there."""
        return self._law.accepted_bits(self.parameters.required_max_weight)

    def estimate(self, total: Sequence[int], reports: int) -> Estimate:
        self.require_total(total, reports)
        rate, values = self.parameters.sampling_rate, self.debiased(total, reports)
        return Estimate(
            values=values,
            standard_errors=self._standard_errors(
                [self._standard_error(value, reports) for value in values], total, reports
            ),
            standard_error_note=self._error_note(bits_standard_error_note(rate)),
            projection=closest_histogram(values, reports / rate),
            intervals=self._intervals(total, reports),
        )

    def debiased(self, total: Sequence[int], reports: int) -> tuple[float, ...]:
        # Intervals take nearly all of the time of an estimate.
        absent, present = self._bits
        return tuple(
            (ones - reports * absent) / (present - absent) / self.parameters.sampling_rate for ones in total
        )

    def _standard_error(self, value: float, reports: int) -> float:
        rate = self.parameters.sampling_rate
        absent, present = self._bits
        having = min(max(value, 0.0) * rate, float(reports))
        coins = having * present * (1 - present) + (reports - having) * absent * (1 - absent)
        sampling = max(value, 0.0) * (1 - rate) / rate
        return math.sqrt(coins / ((present - absent) * rate) ** 2 + sampling)

    def _intervals(self, total: Sequence[int], reports: int) -> tuple[Interval, ...]:
        rate = self.parameters.sampling_rate
        absent, present = self._bits
        bits = RandomizedBits(reports, absent, present, rate, 1, self._rule_for(reports))
        most = reports / rate
        possible = [min(max(value, 0.0), most) for value in self.debiased(total, reports)]
        return tuple(interval.reaching(possible) for interval in intervals(bits, total))

    def truth(self, devices_by_value: Mapping[int, int]) -> tuple[float, ...]:
        return tuple(float(devices_by_value.get(value, 0)) for value in range(self.parameters.k))

    @property
    def robustness(self) -> Robustness:
        absent, present = self._bits
        weight = self.parameters.required_max_weight
        each = 1 / ((present - absent) * self.parameters.sampling_rate)
        # The ones of the honest report may all be missing, and the same number may be at other places.
        return Robustness(
            each=each,
            together=min(2 * weight, self.parameters.k) * each,
            sentence=ones_sentence(weight, self.parameters.k),
        )

    # For the accountant --------------------------------------------------------

    def require_promise(self) -> None:
        self.parameters.require_promise()
        super().require_promise()

    @property
    def _redraw_probability(self) -> float:
        """Pr[W > w]."""
        return self._law.heavier(self.parameters.required_max_weight)

    @property
    def _reference_epsilon(self) -> float:
        """ε of one report against the report about no category, which is not drawn again as often."""
        return rejection_epsilon(self.parameters.epsilon, self._redraw_probability)

    @property
    def _replaced_epsilon(self) -> float:
        """ε of one report against that of another category."""
        return 2 * self.parameters.epsilon

    def _release(self, n: int) -> PrivacyEvent:
        # Two places move under replacement; given all inputs, their flips are independent.
        return RejectionSampling(
            event=Repetition(event=self._place(n), times=2),
            n=n,
            probability=self._redraw_probability,
            largest_epsilon=self._replaced_epsilon,
        )

    def _added(self, n: int) -> PrivacyEvent:
        """The release over n devices, if one of them has a category or none."""
        return RejectionSampling(
            event=self._place(n),
            n=n,
            probability=self._redraw_probability,
            largest_epsilon=self._reference_epsilon,
        )

    def _place(self, n: int) -> PrivacyEvent:
        return RandomizedResponseSum(n=n, epsilon0=self.parameters.epsilon)

    def _releases(self) -> tuple[Release, ...]:
        # With secret sampling, nothing is claimed for add/remove: without the protected device a cohort holds
        # another one instead, which differs in two places.
        return (*super()._releases(), Release((Relation.ADD_REMOVE,), self._added))

    def local_guarantees(self) -> tuple[Guarantee, ...]:
        return (
            Guarantee(
                model=Model.LOCAL,
                relation=Relation.ADD_REMOVE,
                epsilon=self._reference_epsilon,
                delta=0.0,
                source="Randomized response of a one-hot vector that differs in one bit: SAA Example 2, and "
                "what drawing heavy reports again adds.",
                assumption=f"{FOLLOWS_PROTOCOL}; the reference is a report about all zeros, which no "
                "category gives",
            ),
            Guarantee(
                model=Model.LOCAL,
                relation=Relation.REPLACE,
                epsilon=2 * self.parameters.epsilon,
                delta=0.0,
                source="Randomized response of a one-hot vector that differs in two bits: twice ε (SAA "
                "Example 2). Drawing heavy reports again changes nothing: their number does not depend on "
                "the category.",
                assumption=FOLLOWS_PROTOCOL,
            ),
        )

    def expected_standard_error(self, population: int) -> float:
        """Of one category; the worst case over the truth: every device has it. As if no report were drawn
        again, which changes less than is shown."""
        require_population(population)
        rate, rule = self.parameters.sampling_rate, self.release_rule
        return expected_bits_error(self._response, population, rate, rule=rule, devices=population)

    def expected_margin(self, population: int, failure_probability: float) -> float:
        """Of the intervals of all categories together, about; the worst case is the same as for the standard
        error."""
        require_population(population)
        each, rate = failure_probability / self.parameters.k, self.parameters.sampling_rate
        return bits_expected_margin(self._response, population, rate, each, rule=self.release_rule)


class CategorySizeBounds(SizeBounds):
    """Of devices in each category, from an estimate of `Categories`."""

    def __init__(self, statistic: Categories) -> None:
        self._statistic = statistic

    def between(
        self, values: Sequence[float], reports: int, failure_probability: float
    ) -> tuple[tuple[float, float], ...]:
        """Between which the number of devices lies: in each category, and last, in all of them.

        Proved, with one failure probability for all ends together, however small, if every device follows the
        protocol. `intervals` are narrower, hold less often, and their ends are computed to 1e-9. It takes two
        steps: from the ones of a category to how many of the reports are of its devices, and from those that
        were drawn to all (`intervals.chernoff`). That it is released needs no care: what is bounded is the
        probability of a release with a wrong bound.
        """
        rate = self._statistic.parameters.sampling_rate
        absent, present = self._statistic._bits
        each = failure_probability / (4 * self._statistic.parameters.k + 2)

        def drawn(mean: float) -> float:
            return min(max((mean - absent) / (present - absent), 0.0), 1.0) * reports

        bounds = []
        for ones in self._ones(values, reports):
            least, largest = (bound(ones, reports, each) for bound in (least_mean, largest_mean))
            bounds.append((least_size(drawn(least), rate, each), largest_size(drawn(largest), rate, each)))
        everybody = (least_size(reports, rate, each), largest_size(reports, rate, each))
        return (*bounds, everybody)

    def _ones(self, values: Sequence[float], reports: int) -> tuple[int, ...]:
        """The sum that has these estimates."""
        absent, present = self._statistic._bits
        scale = (present - absent) * self._statistic.parameters.sampling_rate
        ones = tuple(round(value * scale + reports * absent) for value in values)
        self._statistic.require_total(ones, reports)
        for value, found in zip(values, ones, strict=True):
            rest = value * scale + reports * absent - found
            if not 0 <= found <= reports or abs(rest) > _WHOLE:
                raise FieldError("estimate", f"cannot have {value!r}: no {reports:,} bits add up to it")
        return ones

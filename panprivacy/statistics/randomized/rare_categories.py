"""How many devices have each of k categories, most of them one: importance sampling (SAA section 3.1).

Most devices have the default, category 0, e.g. "no error". They count with a smaller probability than other
devices, and the estimate divides by it (SAA Figure 3):

1. With N devices, M of them to count and the share γ with another category, a device with the default counts
   with M/2N, any other with min(M/2γN, 1). So about half of those that count have the default
   (`RareCategoriesParameters`).
2. A device tosses the coin of its category (`Participation`). Which devices count then depends on data, and
   there are two methods to hide it. Under `cover` every device sends a report, and one that does not count
   sends the vector of zeros through the randomizer. Under `relayed` only devices that count send: a relay
   hides which, tokens keep each to one report.
3. A device that counts sends RAPPOR_K of its category (`categories`; SAA Example 2).
4. The estimate takes the expected noise from the sum, and divides by the rate of each category
   (`RareCategories.debiased`).
"""

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from typing import Any, ClassVar, Self

from panprivacy.accounting.guarantees import Guarantee, Model, Relation
from panprivacy.accounting.importance_sampling import ImportanceSampling
from panprivacy.accounting.interface import PrivacyEvent
from panprivacy.accounting.number_cache import epsilon_at
from panprivacy.accounting.randomized_response_sum import RandomizedResponseSum
from panprivacy.accounting.rounding import upwards
from panprivacy.accounting.subsampled_response_sum import SubsampledResponseSum
from panprivacy.formats.display import plain, sentence
from panprivacy.formats.errors import FieldError
from panprivacy.formats.parameters import described
from panprivacy.statistics.events.assumptions import FOLLOWS_PROTOCOL
from panprivacy.statistics.events.cohort import require_population
from panprivacy.statistics.events.combined_result import (
    DISHONEST_FRACTIONS,
    honest_devices,
)
from panprivacy.statistics.events.randomized_response import RandomizedResponse, bits_standard_error
from panprivacy.statistics.interface import PartialErrors
from panprivacy.statistics.intervals.estimate import Estimate, Interval, normal_factor
from panprivacy.statistics.intervals.randomized_bits import RandomizedBits, intervals
from panprivacy.statistics.randomized.categories import (
    Categories,
    CategoriesParameters,
    WeightLaw,
    ones_sentence,
    rejection_epsilon,
)
from panprivacy.statistics.robustness import Robustness

LARGEST_SEEN_RATE = 0.99
"""Of devices with another category than the default, under `relayed`. At 1 they would send for certain, and
the number of reports show each of them (docs/errata.md)."""

SMALLEST_SHARE, LARGEST_SHARE = 1e-6, 0.5
"""γ, the part of the devices that has another category than the default."""

_ROUNDING = 1e-12

_COIN_SIDES = 2**64

_UNSEEN = (
    "the relay not revealing senders, and the issuer giving each device one token, so that only a device "
    "itself sees whether it takes part"
)

_NO_BETTER = 1.001
"""An error larger by less than this factor is no larger as shown."""


class Participation(StrEnum):
    """The method that hides which devices count."""

    COVER = "cover"
    """Every device sends a report, whether it counts or not."""

    RELAYED = "relayed"
    """Only devices that count send, through a relay, each with a token."""


@dataclass(frozen=True, kw_only=True)
class RareCategoriesParameters(CategoriesParameters):
    """The parameters of `categories`, and those that determine the rates."""

    participation: str = described(
        label="Participation",
        help="Every device sends a report of the same size (cover), or only those that count send, through a "
        "relay and with a token (relayed).",
        choices=tuple(method.value for method in Participation),
    )
    devices: int = described(
        label="Devices (N)",
        help="The rates, and if relayed the guarantee, are computed for these; “Devices that will hear of "
        "it” changes only the errors shown.",
        minimum=2,
        maximum=1_000_000_000,
        suggested=10_000,
    )
    counted_devices: int = described(
        label="Devices that count (M)",
        help="Number of devices that are to count: half with the default, half with another category.",
        minimum=1,
        maximum=1_000_000_000,
        suggested=800,  # so that the others count with 0.8: single reports gain (docs/recipes.md)
    )
    rare_share: float = described(
        label="Share with another category (γ)",
        help="Estimated share of devices with a category other than the default. A wrong estimate costs "
        "precision, and no privacy.",
        minimum=SMALLEST_SHARE,
        maximum=LARGEST_SHARE,
        suggested=0.05,
    )
    default_rate: float | None = described(
        label="Rate of the default",
        help="Probability with which a device with the default counts: M/2N.",
        minimum=1e-6,
        maximum=1,
        derived=True,
        default=None,
    )
    other_rate: float | None = described(
        label="Rate of other categories",
        help=f"Probability with which any other device counts: M/2γN, at most 1, or {LARGEST_SEEN_RATE} if "
        "relayed.",
        minimum=1e-6,
        maximum=1,
        derived=True,
        default=None,
    )

    @property
    def rates(self) -> tuple[float, float]:
        """Of the default and of any other category; FieldError while they have not been derived."""
        if self.default_rate is None or self.other_rate is None:
            raise FieldError("default_rate", "has not been derived yet; use what `calibrated()` returns")
        return self.default_rate, self.other_rate

    @property
    def needs_relay(self) -> str:
        if self.participation != Participation.RELAYED:
            return ""
        return (
            "if participation is relayed, whether a device sends reveals something of its category; choose "
            "cover, or have tokens and a relay"
        )

    def calibrated(self) -> Self:
        """With the rates of SAA section 3.1, and the largest number of ones as in `categories`.

        Raises:
            FieldError: more devices are to count than there are, or fewer than one in a million; or devices
                are sampled in addition, although the rates already sample.
        """
        default, other = self._rates()
        return replace(super().calibrated(), default_rate=default, other_rate=other)

    def _rates(self) -> tuple[float, float]:
        default = self.counted_devices / self.devices / 2
        if not 1e-6 <= default <= 0.5:
            least, most = math.ceil(2e-6 * self.devices), self.devices
            raise FieldError(
                "counted_devices",
                f"must be from {least:,} to {most:,} for {self.devices:,} devices, not "
                f"{self.counted_devices:,}",
            )
        highest = 1.0
        if self.participation == Participation.RELAYED:
            highest = LARGEST_SEEN_RATE
            if self.sampling_rate != 1:
                raise FieldError(
                    "sampling_rate",
                    "must be 1 if participation is relayed: then the rates of the categories sample, "
                    f"and not {self.sampling_rate:g}",
                )
        return default, min(default / self.rare_share, highest)

    def require_promise(self) -> None:
        """FieldError as for `categories`, or if the rates do not follow from the others."""
        super().require_promise()
        for name, stated, follows in zip(
            ("default_rate", "other_rate"), self.rates, self._rates(), strict=True
        ):
            if not math.isclose(stated, follows, rel_tol=_ROUNDING):
                raise FieldError(
                    name, f"must be {follows!r}, which follows from the other parameters, not {stated!r}"
                )


@dataclass(frozen=True)
class Places:
    """How often the servers see a one.

    Attributes:
        absent, present: probability of a one in a report, at a place that is not the device's, and at its
            own. Each for the default, and for any other category.
        rates: with which a device is among those that the sum is about.
    """

    absent: tuple[float, float]
    present: tuple[float, float]
    rates: tuple[float, float]


class RareCategories(Categories):
    """RAPPOR_K of devices that count: always, or with a smaller probability, by their category.

    Under `cover`, as here, a device that does not count reports like one without any category: a local
    randomizer like any other, whatever the network shows. Its place of the report is then a one with
    p + π·(1 − 2p), so that places stay independent. Under `relayed` it is of the class below.
    The estimate is unbiased in both cases, even if the share γ of other categories differs from the stated
    one.
    """

    statistic = "rare_categories"
    title = "Devices by category, most of them one"
    description = "Estimates how many devices have each of k categories if nearly all have the default (0)."
    parameters_class = RareCategoriesParameters
    needs_proof = True
    rare_counterpart = ""
    parameters: RareCategoriesParameters

    visible_senders: ClassVar[bool] = False
    """Whether an observer of the network sees which devices send."""

    def __new__(cls, *arguments: Any) -> "RareCategories":
        """Of the class that the parameters name; a copy is made without any, and of the same class."""
        relayed = arguments and arguments[0].participation == Participation.RELAYED
        return object.__new__(_Relayed if relayed else cls)

    def label(self, position: int) -> str:
        return "category 0 (default)" if position == 0 else super().label(position)

    # For the device ------------------------------------------------------------

    def randomize(  # type: ignore[override]  # under `relayed` a device may send nothing
        self, value: int, random_source: random.Random
    ) -> tuple[int, ...] | None:
        counted = value if self._counts(value, random_source) else None
        return self._light_report(counted, random_source)

    def _counts(self, value: int, random_source: random.Random) -> bool:
        """The coin of a device with this category."""
        if not 0 <= value < self.parameters.k:
            raise ValueError(f"value must lie in 0..{self.parameters.k - 1}, not {value}")
        return random_source.getrandbits(64) < int(self.parameters.rates[value > 0] * _COIN_SIDES)

    def _light_report(self, value: int | None, random_source: random.Random) -> tuple[int, ...]:
        """A report about this category, or about none, with at most w ones."""
        while True:
            bits = self._response.respond_one_hot(self.parameters.k, value, random_source)
            if sum(bits) <= self.parameters.required_max_weight:
                return bits

    # For the server ------------------------------------------------------------

    @cached_property
    def places(self) -> Places:
        """How often the servers see a one."""
        weight, sampled = self.parameters.required_max_weight, self.parameters.sampling_rate
        default, other = (
            WeightLaw(self._response, self.parameters.k, rate).accepted_bits(weight)
            for rate in self.parameters.rates
        )
        return Places((default[0], other[0]), (default[1], other[1]), (sampled, sampled))

    def estimate(self, total: Sequence[int], reports: int) -> Estimate:
        self.require_total(total, reports)
        values = self.debiased(total, reports)
        return Estimate(
            values=values,
            standard_errors=self._standard_errors(
                [self._error(min(place, 1), value, reports) for place, value in enumerate(values)],
                total,
                reports,
            ),
            standard_error_note=self._error_note(
                "Includes randomized response and the random choice of devices that count, the latter "
                "computed from the estimate."
            ),
            projection=self._possible(values, reports),
            intervals=self._intervals(total, reports),
        )

    def debiased(self, total: Sequence[int], reports: int) -> tuple[float, ...]:
        # The linear equations for the expected sums, solved.
        places = self.places
        (of_default, of_others), (default, other) = places.absent, places.present
        having = (total[0] - reports * of_others) / (default - of_others)
        noise = reports * of_others + (of_default - of_others) * having
        rest = [(ones - noise) / (other - of_others) / places.rates[1] for ones in total[1:]]
        return (having / places.rates[0], *rest)

    def _error(self, kind: int, value: float, reports: float) -> float:
        """Standard error of the number of devices with the default (0) or another category (1)."""
        places = self.places
        absent, present, rate = places.absent[1], places.present[kind], places.rates[kind]
        having = min(max(value, 0.0) * rate, float(reports))
        coins = having * present * (1 - present) + (reports - having) * absent * (1 - absent)
        return math.sqrt(coins / ((present - absent) * rate) ** 2 + max(value, 0.0) * (1 - rate) / rate)

    def _intervals(self, total: Sequence[int], reports: int) -> tuple[Interval, ...]:
        """By exact tests for each place, with the number of reports taken as fixed; if an observer sees which
        devices send, also with a release taken as certain."""
        values = self.debiased(total, reports)
        found = []
        for kind, (rate, ones) in enumerate(zip(self.places.rates, (total[:1], total[1:]), strict=True)):
            absent, present = self.places.absent[1], self.places.present[kind]
            bits = RandomizedBits(reports, absent, present, rate, 1, self._rule_for(reports))
            found.append(intervals(bits, ones, len(total), certain=self.visible_senders))
        possible = self._possible(values, reports)
        joined = (
            Interval(of_default.level, of_default.low + others.low, of_default.high + others.high)
            for of_default, others in zip(*found, strict=True)
        )
        return tuple(interval.reaching(possible) for interval in joined)

    def _possible(self, values: Sequence[float], reports: int) -> tuple[float, ...]:
        """The closest numbers that are possible with this number of reports."""
        default, other = self.places.rates
        return tuple(
            min(max(value, 0.0), reports / (other if place else default))
            for place, value in enumerate(values)
        )

    @property
    def robustness(self) -> Robustness:
        """By the equations of `debiased`, which are linear in the bits of a report.

        Let a and b be the probabilities of a one at another and at the own place, and ρ the rate (`Places`;
        d: of the default, o: of other categories). A one at

            the default's place adds   first = 1 / ((b_d - a_o)·ρ_d) to the default,
                             and takes c·each from every other,  c = (a_d - a_o) / (b_d - a_o) ≥ 0;
            another place    adds      each = 1 / ((b_o - a_o)·ρ_o) to that category.

        Of two reports with at most w ones, one has the default's one, p others that the second lacks, and
        lacks m that the second has. Together the values differ by

            first + (m·(1 + c) + p·|1 - c| + (k - 1 - m - p)·c)·each
                = first + ((k - 1)·c + m + p·(|1 - c| - c))·each,

        which is most for the largest m, and for the largest p if c < 1/2, otherwise for none. It is at least
        what two reports without that one can differ by, min(2·w, k - 1)·each, and no single value moves
        further than by `first`, because

            first ≥ (1 + c·(k - 1))·each,  or  ((b_d - a_o) + (k - 1)·(a_d - a_o))·ρ_d ≤ (b_o - a_o)·ρ_o.

        Under `relayed` a and b are the same for all, so that c = 0, and ρ_d ≤ ρ_o. Under `cover` all send, so
        that ρ_d = ρ_o. There it states that b_d + (k - 1)·a_d ≤ b_o + (k - 1)·a_o: reports of devices with
        the default have at most as many ones on average. They count less, so that their own place is a one
        less often. A number of ones that is larger in the likelihood ratio is so, too, among numbers up to w.
        For the same reason fewer of their reports are drawn again at another place's expense: c ≥ 0.
        """
        (of_default, of_others), (default, other) = self.places.absent, self.places.present
        tied = (of_default - of_others) / (default - of_others)
        first = 1 / ((default - of_others) * self.places.rates[0])
        each = 1 / ((other - of_others) * self.places.rates[1])
        weight, others = self.parameters.required_max_weight, self.parameters.k - 1
        lacking = min(weight, others)
        having = min(weight - 1, others - lacking)
        ones = others * tied + lacking + having * max(0.0, 1 - 2 * tied)
        return Robustness(
            each=first,
            together=first + ones * each,
            sentence=f"{ones_sentence(weight, self.parameters.k)} The default can be moved most, because few "
            "of the devices that have it count; any other category by at most "
            f"{plain(float(f'{(1 + tied) * each:.4g}'))} devices.",
        )

    # For the accountant --------------------------------------------------------

    @property
    def equivalent_epsilon(self) -> float:
        """ε of `categories` (of one place) whose reports reveal as much."""
        return self._replaced_epsilon / 2

    @property
    def equivalence(self) -> str:
        """In which respect it is the same, as a clause after "That is", with ε under replacement."""
        return (
            "with as many reports that each reveal as much (local ε = "
            f"{plain(self._replaced_epsilon, '.3g')}, replacement, δ = 0)"
        )

    def _place(self, n: int) -> PrivacyEvent:
        _, other = self.parameters.rates
        return SubsampledResponseSum(n=n, epsilon0=self.parameters.epsilon, rate=other)

    @property
    def _gained(self) -> float:
        """ln(1 + π·(e^ε − 1)), which is at most ε."""
        _, other = self.parameters.rates
        epsilon = self.parameters.epsilon
        return min(upwards(math.log1p(other * math.expm1(epsilon))), epsilon)

    @property
    def _reference_epsilon(self) -> float:
        """ε of a report against one about no category: a one at the device's place gains most."""
        return rejection_epsilon(self._gained, self._redraw_probability)

    @property
    def _replaced_epsilon(self) -> float:
        """ε under replacement: a one at the place of the one category, a zero at that of the other."""
        _, other = self.parameters.rates
        epsilon = self.parameters.epsilon
        # Never more than 2ε, whatever the rate: rounding up does not exceed what is proved without it.
        alone = min(upwards(self._gained + _lost(epsilon, other)), 2 * epsilon)
        return rejection_epsilon(alone, self._redraw_probability)

    def local_guarantees(self) -> tuple[Guarantee, ...]:
        source = (
            "Exact: a device's own place is a one with p + π·(1 − 2p), at the largest rate π over all "
            "categories, every other place with p; and what drawing heavy reports again adds (SAA section "
            "3.1, with the rates as a part of the randomizer)."
        )
        return (
            Guarantee(
                model=Model.LOCAL,
                relation=Relation.ADD_REMOVE,
                epsilon=self._reference_epsilon,
                delta=0.0,
                source=source,
                assumption=f"{FOLLOWS_PROTOCOL}; the reference is a report about no category",
            ),
            Guarantee(
                model=Model.LOCAL,
                relation=Relation.REPLACE,
                epsilon=self._replaced_epsilon,
                delta=0.0,
                source=source,
                assumption=FOLLOWS_PROTOCOL,
            ),
        )

    def expected_standard_error(self, population: int) -> float:
        """Of one category other than the default, which all devices of the share γ have."""
        require_population(population)
        return self._expected_error(1, self._rare(population), population)

    def expected_margin(self, population: int, failure_probability: float) -> float:
        """By the normal approximation; the case is the same as for the standard error."""
        factor = normal_factor(failure_probability, self.parameters.k)
        return factor * self.expected_standard_error(population)

    @property
    def partial_errors(self) -> "ErrorsWithoutDefault":
        return ErrorsWithoutDefault(self)

    def _expected_error(self, kind: int, devices: float, population: int) -> float:
        """`_error`, and what noise in the number of reports adds: values are linear in that number."""
        nothing = (0,) * self.parameters.k
        step = self.debiased(nothing, 1)[kind] - self.debiased(nothing, 2)[kind]
        reports = population * self.reporting_rate
        return math.hypot(self._error(kind, devices, reports), step * self.release_rule.noise_deviation)

    def _rare(self, population: int) -> float:
        return self.parameters.rare_share * population


class _Relayed(RareCategories):
    """Only devices that count send: privacy rests on hiding which devices do."""

    visible_senders = True
    budget_condition = (
        "the relay does not reveal senders, and the issuer gives each device one token, so that only a "
        "device itself sees whether it takes part"
    )
    release_model = Model.SAMPLED
    sampling = None

    def randomize(  # type: ignore[override]  # None if it does not count
        self, value: int, random_source: random.Random
    ) -> tuple[int, ...] | None:
        return self._light_report(value, random_source) if self._counts(value, random_source) else None

    @cached_property
    def places(self) -> Places:
        absent, present = self._bits
        return Places((absent, absent), (present, present), self.parameters.rates)

    @property
    def reporting_rate(self) -> float:
        default, other = self.parameters.rates
        return default + self.parameters.rare_share * (other - default)

    @property
    def reporting_rates(self) -> tuple[float, float]:
        return self.parameters.rates

    @property
    def equivalent_epsilon(self) -> float:
        return self.parameters.epsilon

    @property
    def equivalence(self) -> str:
        return (
            "with one report from every device; each reveals as much once it is sent (ε = "
            f"{plain(2 * self.parameters.epsilon, '.3g')}, replacement, δ = 0)"
        )

    # Of the reports that are sent, each is that of `categories`.

    def _place(self, n: int) -> PrivacyEvent:
        return RandomizedResponseSum(n=n, epsilon0=self.parameters.epsilon)

    @property
    def _replaced_epsilon(self) -> float:
        return 2 * self.parameters.epsilon

    def aggregator_event(self, dishonest_fraction: float = 0.0) -> PrivacyEvent:
        parameters = self.parameters
        default, other = parameters.rates
        return ImportanceSampling(
            event=self._release(honest_devices(parameters.cohort_size, dishonest_fraction)),
            n=honest_devices(parameters.devices, dishonest_fraction),
            lowest_rate=default,
            highest_rate=other,
        )

    def local_guarantees(self) -> tuple[Guarantee, ...]:
        default, other = self.parameters.rates
        sent = upwards(math.log(other / default) + 2 * self.parameters.epsilon)
        silent = upwards(math.log((1 - default) / (1 - other)))
        return (
            Guarantee(
                model=Model.LOCAL,
                relation=Relation.REPLACE,
                epsilon=max(sent, silent),
                delta=0.0,
                source="Exact, against readers who also see whether the device sends: the largest ratio of "
                "two categories' rates of sending, or of sending nothing, times that of randomized response "
                "in two places.",
                assumption=FOLLOWS_PROTOCOL,
            ),
        )

    def release_guarantees(self) -> tuple[Guarantee, ...]:
        parameters = self.parameters
        return tuple(
            Guarantee(
                model=Model.SAMPLED,
                relation=Relation.REPLACE,
                epsilon=epsilon_at(event := self.aggregator_event(fraction), parameters.delta),
                delta=parameters.delta,
                dishonest_fraction=fraction,
                source=sentence(event.method),
                assumption=f"{_UNSEEN}; on at least "
                f"{honest_devices(parameters.devices, fraction):,} devices that follow the protocol hearing "
                f"of the recipe, and {honest_devices(parameters.cohort_size, fraction):,} reports of such",
            )
            for fraction in DISHONEST_FRACTIONS
        )


class ErrorsWithoutDefault(PartialErrors):
    """Expected errors are those of the categories other than the default."""

    without = "the default"

    def __init__(self, statistic: RareCategories) -> None:
        self._statistic = statistic

    def remark(self, population: int) -> str:
        """How much less is known of the default, and whether `categories` would give more."""
        statistic = self._statistic
        rare = statistic._rare(population)
        other = statistic.expected_standard_error(population)
        default = statistic._expected_error(0, population - rare, population)
        errors = (
            "These errors are for the categories other than the default, if they have the stated share "
            f"{plain(statistic.parameters.rare_share)}. The default's standard error is about "
            f"{_shown(default)}."
        )
        rate = statistic.parameters.sampling_rate
        response = RandomizedResponse(statistic.equivalent_epsilon)
        plain_other, plain_default = (
            bits_standard_error(response, having, population * rate, rate)
            for having in (rare, population - rare)
        )
        if plain_other > other * _NO_BETTER:
            return errors
        of_default = f"{_shown(plain_default)} in place of {_shown(default)}"
        if _shown(plain_other) == _shown(other):
            better = f"for the default a standard error of {of_default}, and for the others the same"
        else:
            better = (
                f"a standard error of {_shown(plain_other)} in place of {_shown(other)}, and of {of_default} "
                "for the default"
            )
        return (
            f"{errors} The statistic categories would do better here: {better}. That is "
            f"{statistic.equivalence}."
        )


def _lost(epsilon: float, rate: float) -> float:
    """−ln(1 − π·(1 − e^−ε)), without the cancellation if that is nearly 0."""
    gone = -rate * math.expm1(-epsilon)
    return -math.log1p(-gone) if gone <= 0.5 else -math.log((1 - rate) + rate * math.exp(-epsilon))


def _shown(error: float) -> str:
    return f"{error:,.0f}" if error >= 100 else plain(error, ".3g")

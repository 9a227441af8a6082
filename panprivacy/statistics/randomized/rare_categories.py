"""How many devices have each of k categories, most of them one: importance sampling (SAA section 3.1).

Most devices have the default, category 0, e.g. "no error". They count with a smaller probability than others,
and the estimate divides by it (Figure 3). Which devices count then depends on data, and there are two methods
to hide it. Under `cover` every device sends a report, and one that does not count sends the vector of zeros
through the randomizer. Under `relayed` only devices that count send: a relay hides which, tokens keep each to
one report.
"""

import math
import random
from collections.abc import Sequence
from functools import cached_property

from panprivacy.accounting.guarantees import Guarantee, Model
from panprivacy.accounting.interface import PrivacyEvent
from panprivacy.formats.display import plain
from panprivacy.intervals.estimate import Estimate, Interval, normal_factor
from panprivacy.intervals.randomized_bits import RandomizedBits, intervals
from panprivacy.statistics.events.cohort import require_population
from panprivacy.statistics.events.combined_result import SecretSampling
from panprivacy.statistics.events.randomized_response import RandomizedResponse, bits_standard_error
from panprivacy.statistics.interface import PartialErrors
from panprivacy.statistics.randomized.categories import Categories, ones_sentence
from panprivacy.statistics.randomized.participation import WAYS, Places
from panprivacy.statistics.randomized.rare_parameters import Participation, RareCategoriesParameters
from panprivacy.statistics.robustness import Robustness

_NO_BETTER = 1.001
"""An error larger by less than this factor is no larger as shown."""


class RareCategories(Categories):
    """RAPPOR_K of devices that count: always, or with a smaller probability, by their category.

    Under `cover` a device that does not count reports like one without any category. Its place of the report
    is then a one with p + π·(1 − 2p), so that places stay independent. Under `relayed` it sends nothing.
    The estimate is unbiased either way, even if the share γ of other categories differs from the stated one.
    """

    statistic = "rare_categories"
    title = "Devices by category, most of them one"
    description = "Estimates how many devices have each of k categories if nearly all have the default (0)."
    parameters_class = RareCategoriesParameters
    needs_proof = True
    rare_counterpart = ""
    parameters: RareCategoriesParameters

    def __init__(self, parameters: RareCategoriesParameters) -> None:
        super().__init__(parameters)
        self._way = WAYS[Participation(parameters.participation)](parameters)

    @property
    def sends_as_values_say(self) -> bool:
        return self._way.shows_senders

    @property
    def reporting_rate(self) -> float:
        return self._way.reporting_rate

    @property
    def reporting_rates(self) -> tuple[float, float]:
        return self._way.reporting_rates

    @property
    def budget_condition(self) -> str:  # type: ignore[override]  # here it depends on the parameters
        return self._way.condition

    def label(self, position: int) -> str:
        return "category 0 (default)" if position == 0 else super().label(position)

    # For the device ------------------------------------------------------------

    def randomize(  # type: ignore[override]  # who counts is a part of this one
        self, value: int, random_source: random.Random
    ) -> tuple[int, ...] | None:
        if not 0 <= value < self.parameters.k:
            raise ValueError(f"value must lie in 0..{self.parameters.k - 1}, not {value}")
        return self._way.randomize(value, random_source)

    # For the server ------------------------------------------------------------

    @cached_property
    def places(self) -> Places:
        """How often the servers see a one."""
        return self._way.places()

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
            intervals=self.intervals(total, reports),
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
        """Standard error of the number of devices with the default (kind 0) or another category (1)."""
        places = self.places
        absent, present, rate = places.absent[1], places.present[kind], places.rates[kind]
        having = min(max(value, 0.0) * rate, float(reports))
        coins = having * present * (1 - present) + (reports - having) * absent * (1 - absent)
        return math.sqrt(coins / ((present - absent) * rate) ** 2 + max(value, 0.0) * (1 - rate) / rate)

    def intervals(self, total: Sequence[int], reports: int) -> tuple[Interval, ...]:
        """By exact tests for each place, with the number of reports taken as fixed; if an observer sees which
        devices send, also with a release taken as certain."""
        values = self.debiased(total, reports)
        found = []
        for kind, (rate, ones) in enumerate(zip(self.places.rates, (total[:1], total[1:]), strict=True)):
            absent, present = self.places.absent[1], self.places.present[kind]
            bits = RandomizedBits(reports, absent, present, rate, 1, self._rule_for(reports))
            found.append(intervals(bits, ones, len(total), certain=self.sends_as_values_say))
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

        With a and b the probabilities of a one at another and at the own place, and ρ the rate (`Places`; d:
        of the default, o: of others), a one at

            the default's place adds   first = 1 / ((b_d - a_o)·ρ_d) to the default,
                             and takes c·each from every other,  c = (a_d - a_o) / (b_d - a_o) ≥ 0;
            another place    adds      each = 1 / ((b_o - a_o)·ρ_o) to that category.

        Of two reports with at most w ones, one has the default's one, p others that the second lacks, and
        lacks m that the second has. Together the values differ by

            first + (m·(1 + c) + p·|1 - c| + (k - 1 - m - p)·c)·each
                = first + ((k - 1)·c + m + p·(|1 - c| - c))·each,

        which is most for the largest m, and for the largest p if c < 1/2, or else for none. It is at least
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
            sentence=f"{ones_sentence(weight, self.parameters.k)} The default can be moved most, as few of "
            "the devices that have it count; any other category by at most "
            f"{plain(float(f'{(1 + tied) * each:.4g}'))} devices.",
        )

    # For the accountant --------------------------------------------------------

    def aggregator_event(self, dishonest_fraction: float = 0.0) -> PrivacyEvent:
        return self._way.aggregator_event(dishonest_fraction)

    @property
    def release_model(self) -> Model:
        return Model.SAMPLED if self.sends_as_values_say else Model.AGGREGATOR

    @property
    def sampling(self) -> SecretSampling | None:
        return None if self.sends_as_values_say else super().sampling

    def _release(self, n: int) -> PrivacyEvent:
        return self._way.release(n)

    def local_guarantees(self) -> tuple[Guarantee, ...]:
        return self._way.local_guarantees()

    def release_guarantees(self) -> tuple[Guarantee, ...]:
        return self._way.release_guarantees()

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


class ErrorsWithoutDefault(PartialErrors):
    """Expected errors are those of the categories other than the default."""

    without = "the default"

    def __init__(self, asked: RareCategories) -> None:
        self._asked = asked

    def remark(self, population: int) -> str:
        """How much less is known of the default, and whether `categories` would give more."""
        asked = self._asked
        rare = asked._rare(population)
        other = asked.expected_standard_error(population)
        default = asked._expected_error(0, population - rare, population)
        said = (
            "These errors are for the categories other than the default, if they have the stated share "
            f"{plain(asked.parameters.rare_share)}. The default's standard error is about {_shown(default)}."
        )
        response, rate = RandomizedResponse(asked._way.alike_epsilon), asked.parameters.sampling_rate
        plain_other, plain_default = (
            bits_standard_error(response, having, population * rate, rate)
            for having in (rare, population - rare)
        )
        if plain_other > other * _NO_BETTER:
            return said
        of_default = f"{_shown(plain_default)} in place of {_shown(default)}"
        if _shown(plain_other) == _shown(other):
            better = f"for the default a standard error of {of_default}, and for the others the same"
        else:
            better = (
                f"a standard error of {_shown(plain_other)} in place of {_shown(other)}, and of {of_default} "
                "for the default"
            )
        return f"{said} The statistic categories would do better here: {better}. That is {asked._way.alike}."


def _shown(error: float) -> str:
    return f"{error:,.0f}" if error >= 100 else plain(error, ".3g")

"""Regular questions: in which cell of an automaton's states a device ends, reported with one coin.

The base of `questions`, which has each question.
"""

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import ClassVar, TypeVar

import numpy as np

from panprivacy.accounting.composition import Repetition
from panprivacy.accounting.guarantees import Guarantee, Model, Relation
from panprivacy.accounting.interface import PrivacyEvent
from panprivacy.accounting.randomized_response_sum import RandomizedResponseSum
from panprivacy.accounting.vector_coin_sum import VectorCoinSum
from panprivacy.encryption.interface import PublicKey, SchemeKey
from panprivacy.formats.errors import FieldError
from panprivacy.formats.parameters import EPSILON, Parameters, described
from panprivacy.intervals.estimate import LEVELS, Estimate, Interval
from panprivacy.intervals.randomized_bits import RandomizedBits, ends, intervals
from panprivacy.statistics.events.assumptions import FOLLOWS_PROTOCOL
from panprivacy.statistics.events.automaton import Automaton, summed
from panprivacy.statistics.events.cohort import Release, require_population
from panprivacy.statistics.events.derived import (
    Cells,
    Contrast,
    Curve,
    Found,
    Median,
    Ratio,
    derived_numbers,
    sets_of,
)
from panprivacy.statistics.events.histogram import closest_histogram
from panprivacy.statistics.events.interface import MaskedMechanism, Report, State, require_step
from panprivacy.statistics.events.randomized_response import (
    RandomizedBit,
    RandomizedResponse,
    bits_expected_margin,
    bits_standard_error,
    bits_standard_error_note,
    expected_bits_error,
)
from panprivacy.statistics.events.vector_coin import VectorCoin
from panprivacy.statistics.interface import InvalidReportError

VECTOR, BUCKET = "vector", "bucket"

MOST_CELLS = 32
MOST_WORK = 512
"""Largest number of states times (names + 1): the work of one step."""


@dataclass(frozen=True, kw_only=True)
class Question:
    """A question as an automaton, and what is made of its states.

    Attributes:
        automaton: over the events of `RegularParameters.events`.
        cells: for each state, the position of its cell.
        labels: of the cells, at least 2.
        ratios, others: the derived numbers.
        answer: by the names of derived numbers, the parts of a sentence after "Of 20,000 devices"; a place
            {} is the number.
        curve: what a chart shows of them; None for the cells themselves.
    """

    automaton: Automaton
    cells: tuple[int, ...]
    labels: tuple[str, ...]
    ratios: tuple[Ratio, ...] = ()
    others: tuple[Contrast | Median, ...] = ()
    answer: tuple[tuple[str, str], ...] = ()
    curve: Curve | None = None

    def ratio(self, name: str) -> Ratio:
        """The ratio of this name."""
        return next(one for one in self.ratios if one.name == name)

    def require_short(self, field: str) -> None:
        """FieldError naming `field` if a step would take too long."""
        states, names = self.automaton.states, len(self.automaton.on)
        if states * (names + 1) > MOST_WORK:
            raise FieldError(
                field,
                f"makes {states} states; at most {MOST_WORK // (names + 1)} are possible with "
                f"{names} {'event' if names == 1 else 'events'}, so that a step stays short",
            )


@dataclass(frozen=True, kw_only=True)
class RegularParameters(Parameters):
    """The parameters of every regular question. Their ε holds for a report, whatever the device did."""

    epsilon: float = described(
        **{
            **EPSILON,
            "help": "Of one report: how well it hides which answer is the device’s. A smaller ε protects a "
            "device more and makes the result less precise.",
        }
    )
    coin: str | None = described(
        label="Coin",
        help="One coin for the whole answer (vector), or one for each value (bucket). Leave empty for the "
        "one whose largest error is smaller.",
        choices=(VECTOR, BUCKET),
        default=None,
    )

    @cached_property
    def question(self) -> Question:
        """What is asked."""
        raise NotImplementedError


R = TypeVar("R", bound=RegularParameters)


class RegularQuestion(MaskedMechanism[R]):
    """How many devices end in each cell of an automaton's states.

    The device keeps the automaton's encrypted vector. In the end it adds up the states of each cell, and
    sends the vector of cells through one coin (`VectorCoin`), or each cell through a coin of its own
    (LPP Algorithm 5 as printed). The latter have ε/2, because two vectors differ in two cells. With one coin
    and a hidden number of reports there is one cell more, for dummies.

    The projection of the estimate is the closest point (Euclidean) with no negative cell and the sum
    reports/q.
    """

    unit = "devices"
    scalar = False
    counts_devices = True
    theorem = "LPP Theorem 10, for each state of an automaton (docs/regular-questions.md)"
    fresh_ciphertexts = True

    parameters_class: ClassVar[type[RegularParameters]]

    def __init__(self, parameters: R) -> None:
        question = parameters.question
        coin = parameters.coin or better_coin(parameters.epsilon, len(question.labels))
        super().__init__(replace(parameters, coin=coin))
        self.question = question
        self._bucket_coin = RandomizedResponse(self.cell_epsilon)

    @property
    def cell_epsilon(self) -> float:
        """ε of the coin of one cell, if each has its own: two cells differ."""
        return self.parameters.epsilon / 2

    @property
    def names(self) -> tuple[str, ...]:
        return self.parameters.event_names

    @property
    def labels(self) -> tuple[str, ...]:
        return self.question.labels

    @property
    def _has_vector_coin(self) -> bool:
        return self.parameters.coin == VECTOR

    @property
    def _vector_coin(self) -> VectorCoin:
        return VectorCoin(self.parameters.epsilon, self.contribution_length)

    # For the device ------------------------------------------------------------

    @property
    def state_ciphertexts(self) -> int:
        return self.question.automaton.states

    def start(self, public_key: PublicKey, random_source: random.Random) -> State:
        automaton = self.question.automaton
        return automaton.vector_of(_fresh(public_key), automaton.start, random_source)

    def step(
        self, public_key: PublicKey, state: State, event: int, step: int, random_source: random.Random
    ) -> State:
        require_step(self.parameters, step)
        self._require_state(state)
        return self.question.automaton.stepped(_fresh(public_key), state, event, step, random_source)

    def report(self, public_key: PublicKey, state: State, random_source: random.Random) -> Report:
        self._require_state(state)
        key, question, blank = _fresh(public_key), self.question, self._is_dummy(random_source)
        times, length = self.parameters.steps + 1, self.contribution_length
        zero = key.encrypt(0, random_source)
        # Step 1: the states of each cell are added up. The cell of dummies stays 0.
        cells = summed(key, state, question.cells, length, zero)
        # Step 2: the coin, or the coins.
        if self._has_vector_coin:
            instead = length - 1 if blank else None
            return self._vector_coin.respond_encrypted(key, cells, times, random_source, instead=instead)
        return tuple(
            self._bucket_coin.respond_encrypted(key, cell, times, random_source, blank=blank)
            for cell in cells
        )

    def outcome(self, events: Mapping[int, int]) -> int:
        """The automaton's state after the last step."""
        return self.question.automaton.last_state(events, self.parameters.steps)

    def state_of_count(
        self, public_key: PublicKey, count: int, step: int, random_source: random.Random
    ) -> State:
        """See `EventDevice.state_of_count`; `count` is the automaton's state after step `step`."""
        if not 0 <= step <= self.parameters.steps:
            raise ValueError(f"state {count} after step {step} is impossible: 0 ≤ step ≤ T")
        self._require_count(count)
        return self.question.automaton.vector_of(_fresh(public_key), count, random_source)

    def report_of_count(self, public_key: PublicKey, count: int, random_source: random.Random) -> Report:
        """See `EventDevice.report_of_count`; `count` is the automaton's state after the last step."""
        self._require_count(count)
        key, blank = _fresh(public_key), self._is_dummy(random_source)
        length, cell = self.contribution_length, self.question.cells[count]
        # As in `report`, on bits in the clear: the coins first, encryption afterwards.
        if self._has_vector_coin:
            shown = self._vector_coin.respond(length - 1 if blank else cell, random_source)
            bits = [int(shown == place) for place in range(length)]
        else:
            bits = [
                self._bucket_coin.respond(int(not blank and place == cell), random_source)
                for place in range(length)
            ]
        return tuple(key.encrypt(bit, random_source) for bit in bits)

    def _require_count(self, count: int) -> None:
        if not 0 <= count < self.state_ciphertexts:
            raise ValueError(f"state {count} is impossible: there are {self.state_ciphertexts}, from 0")

    def _require_state(self, state: State) -> None:
        if len(state) != self.state_ciphertexts:
            raise ValueError(f"a state has {self.state_ciphertexts} ciphertexts, not {len(state)}")

    # For the server ------------------------------------------------------------

    @property
    def allowed_values(self) -> range:
        return range(2)

    @property
    def contribution_length(self) -> int:
        return len(self.labels) + (self._has_vector_coin and self.dummies is not None)

    def contribution(self, values: Sequence[int]) -> tuple[int, ...]:
        found = super().contribution(values)
        if self._has_vector_coin and sum(found) != 1:
            raise InvalidReportError("not_one_hot", f"one value must be 1, not {sum(found)}")
        return found

    def random_values(self, random_source: random.Random) -> tuple[int, ...]:
        if not self._has_vector_coin:
            return super().random_values(random_source)
        one = random_source.randrange(self.contribution_length)
        return tuple(int(place == one) for place in range(self.contribution_length))

    def _sum_of(self, cells: int) -> tuple[RandomizedBit, int]:
        """Whether a device is in any of this number of cells, as a bit; and how many such bits of a report
        are added up for it."""
        return (self._vector_coin.sum_of(cells), 1) if self._has_vector_coin else (self._bucket_coin, cells)

    def debiased(self, total: Sequence[int], reports: int) -> tuple[float, ...]:
        bit, _ = self._sum_of(1)
        rate = self.parameters.sampling_rate
        return tuple(bit.debiased(ones, reports) / rate for ones in total[: len(self.labels)])

    def estimate(self, total: Sequence[int], reports: int) -> Estimate:
        """`details` has the derived numbers. All intervals of a level hold together."""
        self.require_total(total, reports)
        rate, rule = self.parameters.sampling_rate, self._rule_for(reports)
        cells, bit = total[: len(self.labels)], self._sum_of(1)[0]
        values, most = self.debiased(total, reports), reports / rate
        errors = [bits_standard_error(bit, value, reports, rate) for value in values]
        sets = sets_of(self.question.ratios)
        bits = RandomizedBits(reports, bit.absent, bit.present, rate, 1, rule)
        possible = [min(max(value, 0.0), most) for value in values]
        failure = (1 - LEVELS[0]) / self._together
        projection = closest_histogram(values, reports / self.reporting_rate)
        sums = {
            # Values that agree with each other: those of the closest possible cells.
            each: replace(
                self._sum_found(cells, each, reports, failure), value=sum(projection[cell] for cell in each)
            )
            for each in sets
        }
        numbers = derived_numbers(self.question.ratios, self.question.others, sums)
        return Estimate(
            values=values,
            standard_errors=self._standard_errors(errors, total, reports),
            standard_error_note=self._error_note(bits_standard_error_note(rate)),
            projection=projection,
            intervals=tuple(one.reaching(possible) for one in intervals(bits, cells, self._together)),
            details={"derived": numbers, "level": LEVELS[0]} if numbers else {},
        )

    def _sum_found(self, cells: Sequence[int], places: Cells, reports: int, failure: float) -> Found:
        """Of how many devices are in some cells, the estimate and the interval."""
        every, rate = len(self.labels), self.parameters.sampling_rate
        if len(places) == every:
            return self._everybody(reports, failure)
        if 2 * len(places) > every and (self._has_vector_coin or self._knows_everybody):
            # The others are fewer cells, with less noise. And with one coin, a device in most cells varies
            # less than another: their sum is no sum of bits if it may have more devices than reports.
            others = self._sum_found(cells, frozenset(range(every)) - places, reports, failure)
            whole, (fewest, most) = self._everybody(reports, failure), others.ends
            remaining = max(whole.ends[0] - most, 0.0), max(whole.ends[1] - fewest, 0.0)
            return Found(whole.value - others.value, remaining)
        bit, coins = self._sum_of(len(places))
        ones = sum(cells[place] for place in places)
        bits = RandomizedBits(reports, bit.absent, bit.present, rate, coins, self._rule_for(reports))
        low, high = ends(bits, [ones], failure)
        value = bit.debiased(ones, reports * coins) / rate
        possible = min(max(value, 0.0), reports / rate)
        return Found(value, (min(float(low[0]), possible), max(float(high[0]), possible)))

    @property
    def _knows_everybody(self) -> bool:
        """Whether all devices report, and their number is exact."""
        return self.reporting_rate == 1 and not self.noisy_count

    def _everybody(self, reports: int, failure: float) -> Found:
        """How many devices were asked: with sampling, or noise in the number of reports, it is not known."""
        rule, population = self._rule_for(reports), reports / self.reporting_rate
        if self._knows_everybody:
            return Found(population, (population, population))
        least = float(rule.least_population(np.asarray([reports]), failure)[0])
        most = float(RandomizedBits(reports, 0.0, 1.0, self.parameters.sampling_rate, rule=rule).most)
        return Found(population, (min(least, population), max(most, population)))

    def interval_at(self, level: float, values: Sequence[float], reports: int) -> Interval:
        rate, rule, bit = self.parameters.sampling_rate, self._rule_for(reports), self._sum_of(1)[0]
        bits = RandomizedBits(reports, bit.absent, bit.present, rate, 1, rule)
        ones = [bit.total_of(value * rate, reports) for value in values]
        low, high = ends(bits, ones, (1 - level) / self._together)
        found = Interval(level, tuple(map(float, low)), tuple(map(float, high)))
        return found.reaching([min(max(value, 0.0), reports / rate) for value in values])

    @property
    def _together(self) -> int:
        """How many numbers of devices are bounded at once: of each cell, and of sums for derived numbers."""
        return len(self.labels) + len(sets_of(self.question.ratios))

    def truth(self, devices_by_count: Mapping[int, int]) -> tuple[float, ...]:
        """See `Mechanism.truth`; devices are counted by the state in which they ended."""
        found = [0.0] * len(self.labels)
        for state, devices in devices_by_count.items():
            found[self.question.cells[state]] += devices
        return tuple(found)

    # For the accountant --------------------------------------------------------

    def _release(self, n: int) -> PrivacyEvent:
        if self._has_vector_coin:
            return self._one_coin(n, Relation.REPLACE)
        # Two cells move; given all inputs, their noise is independent.
        return Repetition(event=self._cell(n), times=2)

    def _one_coin(self, n: int, relation: Relation) -> PrivacyEvent:
        k, epsilon = self.contribution_length, self.parameters.epsilon
        return VectorCoinSum(n=n, k=k, epsilon0=epsilon, relation=relation.value)

    def _cell(self, n: int) -> PrivacyEvent:
        return RandomizedResponseSum(n=n, epsilon0=self.cell_epsilon)

    def _releases(self) -> tuple[Release, ...]:
        # As in Histogram, nothing is claimed for add/remove with secret sampling.
        added = partial(self._one_coin, relation=Relation.ADD_REMOVE) if self._has_vector_coin else self._cell
        return (*super()._releases(), Release((Relation.ADD_REMOVE,), added))

    def local_guarantees(self) -> tuple[Guarantee, ...]:
        epsilon = self.parameters.epsilon
        if not self._has_vector_coin:
            return (
                _local(
                    Relation.ADD_REMOVE,
                    epsilon / 2,
                    "Randomized response of a one-hot vector that differs in one bit: LPP Theorem 11.",
                    "the reference is a report about all zeros, which no device’s stream gives",
                ),
                _local(
                    Relation.REPLACE,
                    epsilon,
                    "Randomized response of a one-hot vector that differs in two bits, each with ε/2.",
                ),
            )
        k = self.contribution_length
        # p·k and 1/(q·k) against a report drawn uniformly.
        most = math.log(k) - math.log1p((k - 1) * math.exp(-epsilon))
        least = epsilon + math.log1p((k - 1) * math.exp(-epsilon)) - math.log(k)
        return (
            _local(
                Relation.ADD_REMOVE,
                max(most, least),
                "Randomized response of one of k values, against a report drawn uniformly: the larger of "
                "ln(p·k) and −ln(q·k).",
                "the reference is a report that is drawn uniformly",
            ),
            _local(Relation.REPLACE, epsilon, "Randomized response of one of k values: p/q = e^ε."),
        )

    def expected_standard_error(self, population: int) -> float:
        """Of one cell; the worst case over the truth: every device is in it."""
        require_population(population)
        rate, rule, bit = self.parameters.sampling_rate, self.release_rule, self._sum_of(1)[0]
        return expected_bits_error(bit, population, rate, rule=rule, devices=population)

    @property
    def expected_note(self) -> str:
        """The largest errors of both coins, compared."""
        cells, epsilon = len(self.labels), self.parameters.epsilon
        one, each = (largest_error(coin, epsilon, cells) for coin in (VECTOR, BUCKET))
        other, times = "one coin for all values", one / each
        if self._has_vector_coin:
            other, times = "a coin for each value", each / one
        compared = "about as large" if abs(times - 1) < 0.05 else f"{times:.2g} times as large"
        return f"With {other}, the largest error would be {compared}."

    def expected_margin(self, population: int, failure_probability: float) -> float:
        """Of the intervals of all cells, about, which hold together with those of derived numbers; the worst
        case is the same. Shares of several cells have more noise than one cell."""
        require_population(population)
        each = failure_probability / self._together
        rate, rule = self.parameters.sampling_rate, self.release_rule
        return bits_expected_margin(self._sum_of(1)[0], population, rate, each, rule=rule)


def better_coin(epsilon: float, cells: int) -> str:
    """The coin whose largest error over all truths is smaller: for the vector, that of a cell which holds all
    devices."""
    one, each = (largest_error(coin, epsilon, cells) for coin in (VECTOR, BUCKET))
    return VECTOR if one <= each else BUCKET


def largest_error(coin: str, epsilon: float, cells: int) -> float:
    """Standard error of a cell that holds all devices, of one report."""
    bit = VectorCoin(epsilon, cells).sum_of(1) if coin == VECTOR else RandomizedResponse(epsilon / 2)
    return bits_standard_error(bit, 1.0, 1, 1.0)


def _local(relation: Relation, epsilon: float, source: str, reference: str = "") -> Guarantee:
    return Guarantee(
        model=Model.LOCAL,
        relation=relation,
        epsilon=epsilon,
        delta=0.0,
        source=source,
        assumption=f"{FOLLOWS_PROTOCOL}; {reference}" if reference else FOLLOWS_PROTOCOL,
    )


def _fresh(public_key: PublicKey) -> SchemeKey:
    """The key, which must add, and whose rerandomized sums are distributed as fresh ciphertexts."""
    if not isinstance(public_key, SchemeKey) or not public_key.rerandomized_is_fresh:
        raise TypeError("states are added up under one scheme whose rerandomized ciphertexts are fresh")
    return public_key

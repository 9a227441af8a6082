"""Regular questions: in which cell of an automaton's states a device ends, reported with one coin.

The base of `questions`, which has each question.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, TypeVar

import numpy as np

from panprivacy.encryption.interface import PublicKey, SchemeKey
from panprivacy.formats.errors import FieldError
from panprivacy.formats.parameters import EPSILON, described
from panprivacy.statistics.events.automaton import Automaton, summed
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
from panprivacy.statistics.events.interface import Report, State, require_step
from panprivacy.statistics.events.one_hot import OneHotMechanism, OneHotParameters
from panprivacy.statistics.intervals.estimate import LEVELS, Estimate
from panprivacy.statistics.intervals.randomized_bits import RandomizedBits, ends

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
class RegularParameters(OneHotParameters):
    """The parameters of every regular question. Their ε holds for a report, whatever the device did."""

    epsilon: float = described(
        **{
            **EPSILON,
            "help": "Of one report: how well it hides which answer is the device’s. A smaller ε protects a "
            "device more and makes the result less precise.",
        }
    )

    @property
    def replacement_epsilon(self) -> float:
        return self.epsilon

    @cached_property
    def question(self) -> Question:
        """What is asked."""
        raise NotImplementedError


R = TypeVar("R", bound=RegularParameters)


class RegularQuestion(OneHotMechanism[R]):
    """How many devices end in each cell of an automaton's states.

    The device keeps the automaton's encrypted vector. In the end it adds up the states of each cell, and
    reports the vector of cells.
    """

    theorem = "LPP Theorem 10, for each state of an automaton (docs/regular-questions.md)"
    fresh_ciphertexts = True

    parameters_class: ClassVar[type[RegularParameters]]

    def __init__(self, parameters: R) -> None:
        self.question = parameters.question
        super().__init__(parameters)

    @property
    def names(self) -> tuple[str, ...]:
        return self.parameters.event_names

    @property
    def labels(self) -> tuple[str, ...]:
        return self.question.labels

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
        # The states of each cell are added up. The cell of dummies stays 0.
        cells = summed(key, state, question.cells, self.contribution_length, key.encrypt(0, random_source))
        return self._respond(key, cells, blank, random_source)

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
        return self._respond_in_clear(_fresh(public_key), self.question.cells[count], random_source)

    def _require_count(self, count: int) -> None:
        if not 0 <= count < self.state_ciphertexts:
            raise ValueError(f"state {count} is impossible: there are {self.state_ciphertexts}, from 0")

    def _require_state(self, state: State) -> None:
        if len(state) != self.state_ciphertexts:
            raise ValueError(f"a state has {self.state_ciphertexts} ciphertexts, not {len(state)}")

    # For the server ------------------------------------------------------------

    def estimate(self, total: Sequence[int], reports: int) -> Estimate:
        """`details` has the derived numbers. All intervals of a level hold together, with theirs."""
        found, cells = super().estimate(total, reports), total[: len(self.labels)]
        failure = (1 - LEVELS[0]) / self._together
        sums = {
            # Values that agree with each other: those of the closest possible cells.
            each: replace(
                self._sum_found(cells, each, reports, failure),
                value=sum(found.projection[cell] for cell in each),
            )
            for each in sets_of(self.question.ratios)
        }
        numbers = derived_numbers(self.question.ratios, self.question.others, sums)
        return replace(found, details={"derived": numbers, "level": LEVELS[0]}) if numbers else found

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


def _fresh(public_key: PublicKey) -> SchemeKey:
    """The key, which must add, and whose rerandomized sums are distributed as fresh ciphertexts."""
    if not isinstance(public_key, SchemeKey) or not public_key.rerandomized_is_fresh:
        raise TypeError("states are added up under one scheme whose rerandomized ciphertexts are fresh")
    return public_key

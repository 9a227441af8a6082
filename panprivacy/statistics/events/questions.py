"""Five questions about the order and the times of events, and a table for experts; each is an automaton.

The parameters name events and times, and compile to a `Question`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import Any, Self

from panprivacy.formats.display import as_typed
from panprivacy.formats.errors import FieldError
from panprivacy.formats.parameters import described
from panprivacy.formats.structures import (
    EventList,
    EventName,
    OneState,
    RisingNumbers,
    State,
    StateGroups,
    StateList,
    Tables,
)
from panprivacy.statistics.events.automaton import Automaton, Table
from panprivacy.statistics.events.derived import Cells, Contrast, Curve, Median, Ratio
from panprivacy.statistics.events.regular import (
    MOST_CELLS,
    Question,
    RegularParameters,
    RegularQuestion,
)

MOST_NAMES = 8
MOST_STATES = 64
MOST_STEPS = 100_000


Moves = tuple[tuple[str, State], ...]
"""From which state to which, as pairs."""


def _neutral(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(str(number) for number, _ in enumerate(names, start=1))


def _from(first: int, cells: int) -> Cells:
    """The cells from `first` on."""
    return frozenset(range(first, cells))


def _joined(unit: str, ratios: Sequence[Ratio], places: Sequence[str], *, steps: bool = False) -> Curve:
    names = tuple(one.name for one in ratios)
    before = ("",) * len(names)
    return Curve(unit=unit, ratios=names, places=tuple(places), before=before, joined=True, steps=steps)


@dataclass(frozen=True, kw_only=True)
class OneEventParameters(RegularParameters):
    """The event of a question about one."""

    event: str = described(
        label="Event",
        help="Its name in the application, as developers know it: a-z, 0-9, dot, _ and -.",
        structure=EventName(),
    )

    @property
    def event_names(self) -> tuple[str, ...]:
        return (self.event,)

    def without_names(self) -> Self:
        return replace(self, event="1")


@dataclass(frozen=True, kw_only=True)
class EventsParameters(RegularParameters):
    """The events of a question about several."""

    events: tuple[str, ...]

    @property
    def event_names(self) -> tuple[str, ...]:
        return self.events

    def without_names(self) -> Self:
        return replace(self, events=_neutral(self.events))


# Where do people stop? ----------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class FunnelParameters(EventsParameters):
    """The events of a funnel, in their order."""

    events: tuple[str, ...] = described(
        label="Events",
        help="Names of 2 to 6 events in the order in which people go through them, with commas between.",
        structure=EventList(2, 6),
    )

    @cached_property
    def question(self) -> Question:
        """State i: the first i events happened, in order. The i-th event leads from i − 1 to i."""
        stages = len(self.events)
        states = stages + 1
        stay = list(range(states))
        on = tuple((*stay[:i], i + 1, *stay[i + 1 :]) for i in range(stages))
        everybody = _from(0, states)
        reached = [
            Ratio(f"reached_{i}", self.events[i - 1], _from(i, states), everybody) for i in range(1, states)
        ]
        conversions = [
            Ratio(
                f"reached_{i}_of_{i - 1}",
                f"{self.events[i - 1]} of those with {self.events[i - 2]}",
                _from(i, states),
                _from(i - 1, states),
            )
            for i in range(2, states)
        ]
        labels = ("none of them", *(_up_to(self.events, i) for i in range(1, stages)), "all in order")
        return Question(
            automaton=Automaton(start=0, on=on),
            cells=tuple(range(states)),
            labels=labels,
            ratios=(*reached, *conversions),
            answer=(
                ("reached_1", f"{{}} had {self.events[0]}"),
                *(
                    (one.name, f"of those {{}} had {name}")
                    for one, name in zip(conversions, self.events[1:], strict=True)
                ),
            ),
            curve=Curve(
                unit="% of all devices",
                ratios=tuple(one.name for one in reached),
                places=self.events,
                before=("", *(one.name for one in conversions)),
            ),
        )


def _up_to(events: tuple[str, ...], reached: int) -> str:
    return f"as far as {events[reached - 1]}"


class Funnel(RegularQuestion[FunnelParameters]):
    """How far devices get in a sequence of events."""

    statistic = "funnel"
    title = "Funnel: where people stop"
    description = (
        "Estimates how many devices had the first event, then the second one, and so on. Other events in "
        "between do not matter."
    )
    parameters_class = FunnelParameters


# Do they come back? -------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class RetentionParameters(OneEventParameters):
    """Periods of as many steps, counted from the recipe's first."""

    period_steps: int = described(
        label="Steps in a period",
        help="For example 7 steps of a day: a week.",
        minimum=1,
        maximum=50_000,
        suggested=7,
    )
    periods: int = described(
        label="Periods",
        help="How many periods to follow devices for.",
        minimum=2,
        maximum=26,
        suggested=4,
    )
    steps: int = described(
        label="Steps",
        help="The periods times the steps in each.",
        minimum=1,
        maximum=MOST_STEPS,
        default=None,
        implied=True,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        steps = self.periods * self.period_steps
        if steps > MOST_STEPS:
            raise FieldError(
                "period_steps", f"must be at most {MOST_STEPS // self.periods:,} in {self.periods} periods"
            )
        if self.steps not in (None, steps):
            raise FieldError(
                "steps", f"must be periods times period_steps, {steps:,}, or left out, not {self.steps:,}"
            )
        object.__setattr__(self, "steps", steps)

    @cached_property
    def question(self) -> Question:
        """States: not in the first period; in this period (S); last in period 1, 2, … (L_i).

        An event leads from the start, and from every L_i, to S. At the end of period i, S becomes L_i; at the
        end of the first, who was not there leaves for good.
        """
        start, gone, seen = 0, 1, 2
        states = 3 + self.periods
        on = tuple(state if state == gone else seen for state in range(states))
        at = {}
        for period in range(1, self.periods + 1):
            table = list(range(states))
            table[seen] = 2 + period
            if period == 1:
                table[start] = gone
            at[period * self.period_steps] = tuple(table)
        cells = self.periods + 1
        labels = ("not in period 1", *(f"until period {period}" for period in range(1, cells)))
        there = _from(1, cells)
        ratios = [Ratio("in_period_1", "In period 1", there, _from(0, cells))]
        ratios += [
            Ratio(f"still_{period}", f"Still there in period {period} or later", _from(period, cells), there)
            for period in range(2, cells)
        ]
        return Question(
            automaton=Automaton(start=start, on=(on,), at=at),
            # No device is at the start or in S after the last step.
            cells=(0, 0, self.periods, *range(1, cells)),
            labels=labels,
            ratios=tuple(ratios),
            answer=(
                ("in_period_1", f"{{}} had {self.event} in period 1"),
                (f"still_{self.periods}", f"of those {{}} still had it in period {self.periods}"),
            ),
            curve=_joined(
                "% of the devices of period 1", ratios[1:], [f"period {number}" for number in range(2, cells)]
            ),
        )


class Retention(RegularQuestion[RetentionParameters]):
    """Until when devices of the first period come back."""

    statistic = "retention"
    title = "Retention: do they come back"
    description = (
        "Estimates how many devices with the event in the first period still have it in later ones: until "
        "which period."
    )
    parameters_class = RetentionParameters


# How long does it take? ---------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class TimeToFirstParameters(OneEventParameters):
    """Rising bounds, in steps."""

    within: tuple[int, ...] = described(
        label="Within",
        help="Bounds in steps, rising, with commas between. For each: how many devices had their first "
        "event by then.",
        structure=RisingNumbers(1, MOST_CELLS - 1, MOST_STEPS),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.within[-1] > self.steps:
            raise FieldError("within", f"must be at most steps, {self.steps:,}, not {self.within[-1]:,}")

    @cached_property
    def question(self) -> Question:
        """States: no event so far, one for each bound ahead, and one when all are over (0..m); the first
        event lay within bound i (m + 1 + i). The clock moves on at each bound."""
        bounds = len(self.within)
        waiting = bounds + 1
        states = waiting + bounds
        on = tuple(waiting + state if state < bounds else state for state in range(states))
        at = {}
        for number, bound in enumerate(self.within):
            table = list(range(states))
            table[number] = number + 1
            at[bound] = tuple(table)
        labels = (
            f"within {_steps(self.within[0])}",
            *(
                f"after {before:,}, within {_steps(bound)}"
                for before, bound in zip(self.within, self.within[1:], strict=False)
            ),
            "later or never",
        )
        everybody = _from(0, bounds + 1)
        ratios = [
            Ratio(
                f"within_{bound}",
                f"Within {_steps(bound)}",
                frozenset(range(number + 1)),
                everybody,
            )
            for number, bound in enumerate(self.within)
        ]
        median = Median(
            "median", "Median time to the first event", self.within, tuple(one.name for one in ratios)
        )
        return Question(
            automaton=Automaton(start=0, on=(on,), at=at),
            cells=(*(bounds for _ in range(waiting)), *range(bounds)),
            labels=labels,
            ratios=tuple(ratios),
            others=(median,),
            answer=(
                (ratios[-1].name, f"{{}} had {self.event} within {_steps(self.within[-1])}"),
                ("median", "half of all {}"),
            ),
            curve=_joined("% of all devices", ratios, [_steps(bound) for bound in self.within], steps=True),
        )


def _steps(number: int) -> str:
    return "1 step" if number == 1 else f"{number:,} steps"


class TimeToFirst(RegularQuestion[TimeToFirstParameters]):
    """How long it takes until the first event."""

    statistic = "time_to_first"
    title = "Time to the first event"
    description = "Estimates how many devices had their first event within each of several times."
    parameters_class = TimeToFirstParameters


# How long in a row? -------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class LongestStreakParameters(OneEventParameters):
    """The longest run that has an answer of its own."""

    longest: int = described(
        label="Longest run",
        help="Runs of this many steps in a row, and longer ones, are one answer.",
        minimum=2,
        maximum=22,
        suggested=5,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        self.question.require_short("longest")

    @cached_property
    def question(self) -> Question:
        """States (b, c): the longest run so far, and the current one; b = `longest` is final. A step without
        the event ends the current run."""
        longest = self.longest
        pairs = [(b, c) for b in range(longest) for c in range(b + 1)]
        numbers = {pair: number for number, pair in enumerate(pairs)}
        final = len(pairs)
        on, otherwise = [], []
        for b, c in pairs:
            run = c + 1
            on.append(final if run == longest else numbers[max(b, run), run])
            otherwise.append(numbers[b, 0])
        cells = longest + 1
        ratios = tuple(
            Ratio(f"at_least_{run}", f"{_steps(run)} in a row or more", _from(run, cells), _from(0, cells))
            for run in range(1, cells)
        )
        return Question(
            automaton=Automaton(start=0, on=((*on, final),), otherwise=(*otherwise, final)),
            cells=(*(b for b, _ in pairs), longest),
            labels=(
                "never",
                *(f"{_steps(run)} in a row" for run in range(1, longest)),
                f"{_steps(longest)} in a row or more",
            ),
            ratios=ratios,
            answer=(
                ("at_least_1", f"{{}} had {self.event}"),
                (f"at_least_{longest}", f"{{}} had it in {_steps(longest)} in a row or more"),
            ),
            curve=_joined("% of all devices", ratios, [f"{run} in a row" for run in range(1, cells)]),
        )


class LongestStreak(RegularQuestion[LongestStreakParameters]):
    """The longest run of steps with the event."""

    statistic = "longest_streak"
    title = "Longest streak"
    description = "Estimates on how many devices the longest run of steps with the event was 0, 1, 2, …"
    parameters_class = LongestStreakParameters


# Do these go together? ----------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class BothParameters(EventsParameters):
    """The events whose combinations are counted."""

    events: tuple[str, ...] = described(
        label="Events", help="Names of 2 or 3 events, with commas between.", structure=EventList(2, 3)
    )

    @cached_property
    def question(self) -> Question:
        """State: which of the events happened, the first name as the lowest bit."""
        states = 1 << len(self.events)
        on = tuple(tuple(state | 1 << place for state in range(states)) for place in range(len(self.events)))
        having = [
            frozenset(state for state in range(states) if state >> place & 1)
            for place in range(len(self.events))
        ]
        everybody = _from(0, states)
        ratios = [
            Ratio(f"share_{place + 1}", name, having[place], everybody)
            for place, name in enumerate(self.events)
        ]
        others: list[Contrast | Median] = []
        for (a, first), (b, second) in product(enumerate(self.events), repeat=2):
            if a == b:
                continue
            pair = f"{a + 1}_with_{b + 1}"
            ratios += [
                Ratio(pair, f"{first} with {second}", having[a] & having[b], having[b]),
                Ratio(
                    f"{a + 1}_without_{b + 1}",
                    f"{first} without {second}",
                    having[a] - having[b],
                    everybody - having[b],
                ),
            ]
            others.append(
                Contrast(
                    f"{pair}_difference",
                    f"{first}: difference with and without {second}",
                    pair,
                    f"{a + 1}_without_{b + 1}",
                )
            )
            if a < b:
                others.append(
                    Contrast(
                        f"{pair}_odds",
                        f"Odds ratio of {first} and {second}",
                        pair,
                        f"{a + 1}_without_{b + 1}",
                        odds=True,
                    )
                )
        return Question(
            automaton=Automaton(start=0, on=on),
            cells=tuple(range(states)),
            labels=tuple(_combination(self.events, state) for state in range(states)),
            ratios=tuple(ratios),
            others=tuple(others),
            answer=(
                *((f"share_{place + 1}", f"{{}} had {name}") for place, name in enumerate(self.events)),
                ("1_with_2", f"of those with {self.events[1]}, {{}} had {self.events[0]}"),
            ),
        )


def _combination(events: tuple[str, ...], state: int) -> str:
    names = [name for place, name in enumerate(events) if state >> place & 1]
    if len(names) == 1:
        return f"only {names[0]}"
    return " and ".join(names) or "none of them"


class Both(RegularQuestion[BothParameters]):
    """Which of a few events devices had."""

    statistic = "both"
    title = "Which events go together"
    description = "Estimates how many devices had each combination of 2 or 3 events."
    parameters_class = BothParameters


# A table for experts ------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class AutomatonParameters(EventsParameters):
    """The tables of any automaton. Transitions that are missing stay in their state."""

    events: tuple[str, ...] = described(
        label="Events",
        help=f"Names of 1 to {MOST_NAMES} events, in the order in which they are applied within a step.",
        structure=EventList(1, MOST_NAMES),
    )
    states: int | tuple[str, ...] = described(
        label="States", help="Their number, or their names.", structure=StateList(MOST_STATES)
    )
    start: State = described(label="First state", help="Before the first step.", structure=OneState())  # noqa: RUF009
    on: tuple[tuple[str, Moves], ...] = described(
        label="On events",
        help="For each event, from which state it leads to which.",
        structure=Tables("events", MOST_NAMES),
    )
    at: tuple[tuple[str, Moves], ...] | None = described(
        label="At steps",
        help="For some steps, what happens at their end: from which state to which.",
        structure=Tables("steps", 1_000),
        default=None,
    )
    cells: tuple[tuple[str, tuple[State, ...]], ...] = described(
        label="Answers",
        help="For each answer, the states that count as it.",
        structure=StateGroups(MOST_CELLS),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        self.question.require_short("states")

    @cached_property
    def _numbers(self) -> dict[str, int]:
        names = range(self.states) if isinstance(self.states, int) else self.states
        return {str(name): number for number, name in enumerate(names)}

    def _state(self, field: str, name: object) -> int:
        number = self._numbers.get(str(name))
        if number is None:
            raise FieldError(
                field, f"names {as_typed(name)}, which is none of the {len(self._numbers)} states"
            )
        return number

    def _table(self, field: str, moves: Moves) -> Table:
        table = list(range(len(self._numbers)))
        for source, target in moves:
            table[self._state(field, source)] = self._state(field, target)
        return tuple(table)

    @cached_property
    def question(self) -> Question:
        """As written. The order of the cells is that of their first states, because objects have none."""
        on, at = (
            {key: self._table(field, moves) for key, moves in (tables or ())}
            for field, tables in (("on", self.on), ("at", self.at))
        )
        for name in on:
            if name not in self.events:
                raise FieldError("on", f"names {as_typed(name)}, which is none of the events")
        stay = self._table("on", ())
        cell_of: dict[int, str] = {}
        for label, states in self.cells:
            for state in states:
                number = self._state("cells", state)
                if number in cell_of:
                    raise FieldError("cells", f"must name each state once, not {as_typed(state)} again")
                cell_of[number] = label
        missing = [name for name, number in self._numbers.items() if number not in cell_of]
        if missing:
            raise FieldError("cells", f"must name every state: {as_typed(missing[0])} is missing")
        labels = tuple(dict.fromkeys(cell_of[number] for number in sorted(cell_of)))
        return Question(
            automaton=Automaton(
                start=self._state("start", self.start),
                on=tuple(on.get(name, stay) for name in self.events),
                at={self._step(step): table for step, table in at.items()},
            ),
            cells=tuple(labels.index(cell_of[number]) for number in sorted(cell_of)),
            labels=labels,
        )

    def _step(self, text: str) -> int:
        if text.isascii() and text.isdigit() and text[0] != "0" and 1 <= int(text[:7]) <= self.steps:
            return int(text)
        raise FieldError("at", f"must name steps from 1 to {self.steps:,}, not {as_typed(text)}")

    def without_names(self) -> Self:
        names = dict(zip(self.events, _neutral(self.events), strict=True))
        numbers = self._numbers

        def renamed(tables: tuple[tuple[str, Moves], ...], keys: Mapping[str, str]) -> dict[str, Any]:
            return {
                keys.get(key, key): {str(numbers[source]): numbers[str(target)] for source, target in moves}
                for key, moves in tables
            }

        values = self.as_dict() | {
            "events": list(names.values()),
            "states": len(numbers),
            "start": numbers[str(self.start)],
            "on": renamed(self.on, names),
            "cells": {
                str(place): [numbers[str(state)] for state in states]
                for place, (_, states) in enumerate(self.cells)
            },
        }
        if self.at is not None:
            values["at"] = renamed(self.at, {})
        return type(self).from_mapping(values)


class AutomatonQuestion(RegularQuestion[AutomatonParameters]):
    """Any question that a table of states answers."""

    statistic = "automaton"
    title = "A table of states, for experts"
    description = "Estimates how many devices end in each group of an automaton’s states."
    parameters_class = AutomatonParameters

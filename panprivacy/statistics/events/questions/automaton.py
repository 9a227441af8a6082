"""A table of states, for experts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

from panprivacy.formats.display import as_typed
from panprivacy.formats.errors import FieldError
from panprivacy.formats.parameters import described
from panprivacy.formats.structures import EventList, OneState, State, StateGroups, StateList, Tables
from panprivacy.statistics.events.automaton import Automaton, Table
from panprivacy.statistics.events.questions.interface import (
    MOST_NAMES,
    MOST_STATES,
    EventsParameters,
    Moves,
    neutral_names,
)
from panprivacy.statistics.events.regular import MOST_CELLS, Question, RegularQuestion


@dataclass(frozen=True, kw_only=True)
class AutomatonParameters(EventsParameters):
    """The tables of any automaton. Transitions that are missing stay in their state.

    Tables are kept in one form: without moves that stay, and sorted. States are named by their names, or by
    their numbers if they have none.
    """

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
        structure=Tables("events", MOST_NAMES, MOST_NAMES * MOST_STATES),
    )
    at: tuple[tuple[str, Moves], ...] | None = described(
        label="At steps",
        help="For some steps, what happens at their end: from which state to which.",
        structure=Tables("steps", 1_000, 2_000),
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
        tables = {"on": self._canonical(self.on), "at": self._canonical(self.at or ()) or None}
        cells = tuple((label, self._sorted(states)) for label, states in sorted(self.cells))
        for name, value in (tables | {"start": self._sorted([self.start])[0], "cells": cells}).items():
            object.__setattr__(self, name, value)

    def _sorted(self, states: Sequence[State]) -> tuple[State, ...]:
        """The same states, which exist, in their order."""
        numbers = sorted(self._numbers[str(state)] for state in states)
        return tuple(number if isinstance(self.states, int) else self.states[number] for number in numbers)

    def _canonical(self, tables: Sequence[tuple[str, Moves]]) -> tuple[tuple[str, Moves], ...]:
        """The same tables without moves that stay, sorted."""
        moving = (
            (key, tuple(sorted((one, self._sorted([to])[0]) for one, to in moves if one != str(to))))
            for key, moves in tables
        )
        return tuple(sorted((key, moves) for key, moves in moving if moves))

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
        names = dict(zip(self.events, neutral_names(self.events), strict=True))
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

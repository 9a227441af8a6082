"""Parameters that are lists or tables, where others are one number or one word.

A structure reads a JSON value into tuples, which do not change, and writes them back as JSON.
"""

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from types import MappingProxyType
from typing import Any

from panprivacy.formats.display import as_typed
from panprivacy.formats.errors import FieldError

EVENT_LENGTH = 60
EVENT_PATTERN = re.compile(rf"(?!-)[a-z0-9._-]{{1,{EVENT_LENGTH}}}")
"""Names of events, as applications call them. One that began with - would be an option to command lines."""

EVENT_ALLOWED = f"1 to {EVENT_LENGTH} of the characters a-z, 0-9, dot, _ and -, but no - at the beginning"
"""The same as a clause."""

LABEL_LENGTH = 60

DEPTH = 3
"""Levels of objects and lists in a table."""


class Structure(ABC):
    """The form of one parameter."""

    allowed: str
    """The allowed values, as a clause."""

    example: Any
    """An allowed value, as JSON."""

    @abstractmethod
    def read(self, field: str, value: object) -> Any:
        """The value in tuples, from JSON or from what `read` returned; otherwise FieldError with `field`."""

    def written(self, value: Any) -> Any:
        """The value as JSON."""
        return list(value)

    def as_text(self, value: Any) -> str:
        """JSON as people write it in a form."""
        return json.dumps(value, ensure_ascii=False, default=dict)

    def of_text(self, text: str) -> object:
        """What people write in a form as JSON; the text itself if it cannot be read."""
        try:
            value = json.loads(text, object_pairs_hook=_distinct)
        except (ValueError, RecursionError):
            return text
        return value if _depth(value) <= DEPTH else text

    def refusal(self, field: str, value: object) -> FieldError:
        """The refusal of a value."""
        return FieldError(field, f"must be {self.allowed}, not {as_typed(value)}")


class EventName(Structure):
    """The name of one event."""

    allowed = EVENT_ALLOWED
    example = "search"

    def read(self, field: str, value: object) -> str:
        if not isinstance(value, str) or not EVENT_PATTERN.fullmatch(value):
            raise self.refusal(field, value)
        return value

    def written(self, value: str) -> str:
        return value

    def as_text(self, value: str) -> str:
        return value

    def of_text(self, text: str) -> str:
        return text.strip()


class _Row(Structure):
    """A list that people write in one line, with commas between."""

    def as_text(self, value: Any) -> str:
        return ", ".join(map(str, value))


@dataclass(frozen=True)
class EventList(_Row):
    """Names of events that differ, in an order that matters."""

    least: int
    most: int
    example = ("search", "buy")

    @property
    def allowed(self) -> str:  # type: ignore[override]
        return f"{self.least} to {self.most} names that differ, each of {EVENT_ALLOWED}"

    def of_text(self, text: str) -> object:
        return text.replace(",", " ").split()

    def read(self, field: str, value: object) -> tuple[str, ...]:
        names = _list(value)
        if names is None or not self.least <= len(names) <= self.most:
            raise self.refusal(field, value)
        if not all(isinstance(name, str) and EVENT_PATTERN.fullmatch(name) for name in names):
            raise self.refusal(field, value)
        if len(set(names)) < len(names):
            raise self.refusal(field, value)
        return tuple(names)


@dataclass(frozen=True)
class RisingNumbers(_Row):
    """Whole numbers, each above the one before."""

    least: int
    most: int
    largest: int
    example = (1, 3)

    @property
    def allowed(self) -> str:  # type: ignore[override]
        return f"{self.least} to {self.most} rising whole numbers from 1 to {self.largest:,}"

    def of_text(self, text: str) -> object:
        words = text.replace(",", " ").split()
        return [int(word) if word.isascii() and word.isdigit() and len(word) < 10 else word for word in words]

    def read(self, field: str, value: object) -> tuple[int, ...]:
        numbers = _list(value)
        if numbers is None or not self.least <= len(numbers) <= self.most:
            raise self.refusal(field, value)
        if not all(_is_whole(number) and 1 <= number <= self.largest for number in numbers):
            raise self.refusal(field, value)
        read = tuple(map(int, numbers))
        if any(next_one <= one for one, next_one in pairwise(read)):
            raise self.refusal(field, value)
        return read


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({name for name, _ in pairs}) < len(pairs):
        raise ValueError("a name is repeated")
    return dict(pairs)


def _depth(value: object) -> int:
    """Levels of objects and lists, as far as it matters."""
    depth, level = 0, [value]
    while depth <= DEPTH and (level := [one for one in level if isinstance(one, dict | list)]):
        depth += 1
        level = [inner for one in level for inner in (one.values() if isinstance(one, dict) else one)]
    return depth


def _list(value: object) -> Sequence[Any] | None:
    return value if isinstance(value, list | tuple) else None


def _is_whole(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return value == value and abs(value) < 2**53 and value == int(value)


State = int | str


@dataclass(frozen=True)
class StateList(Structure):
    """The states of an automaton: their number, or their names."""

    most: int
    example = 2

    @property
    def allowed(self) -> str:  # type: ignore[override]
        return f"a whole number from 2 to {self.most}, or as many names that differ"

    def read(self, field: str, value: object) -> int | tuple[str, ...]:
        if _is_whole(value) and 2 <= value <= self.most:  # type: ignore[operator]
            return int(value)  # type: ignore[call-overload, no-any-return]
        names = _list(value)
        if names is None or not 2 <= len(names) <= self.most or not all(map(_is_label, names)):
            raise self.refusal(field, value)
        if len(set(names)) < len(names):
            raise self.refusal(field, value)
        return tuple(names)

    def written(self, value: int | tuple[str, ...]) -> Any:
        return value if isinstance(value, int) else list(value)


class OneState(Structure):
    """A state of an automaton: its number, or its name."""

    allowed = "a state: its number from 0, or its name"
    example = 0

    def read(self, field: str, value: object) -> State:
        if _is_whole(value) and value >= 0:  # type: ignore[operator]
            return int(value)  # type: ignore[call-overload, no-any-return]
        if _is_label(value):
            return str(value)
        raise self.refusal(field, value)

    def written(self, value: State) -> State:
        return value

    def as_text(self, value: State) -> str:
        return str(value)


@dataclass(frozen=True)
class Tables(Structure):
    """For each event, or for each step, the state that follows some states."""

    keys: str
    most: int
    most_moves: int
    """In all tables together, so that they are read in a moment."""
    example = MappingProxyType({"search": {"0": 1}})

    @property
    def allowed(self) -> str:  # type: ignore[override]
        return (
            f"an object of at most {self.most:,} {self.keys}, each with an object of state and next state; "
            f"at most {self.most_moves:,} next states in all"
        )

    def read(self, field: str, value: object) -> tuple[tuple[str, tuple[tuple[str, State], ...]], ...]:
        tables = _pairs(value)
        if tables is None or len(tables) > self.most:
            raise self.refusal(field, value)
        read, remaining = [], self.most_moves
        for key, table in tables:
            moves = _pairs(table)
            remaining -= 0 if moves is None else len(moves)
            if not isinstance(key, str) or moves is None or remaining < 0:
                raise self.refusal(field, value)
            if not all(isinstance(source, str) for source, _ in moves):
                raise self.refusal(field, value)
            read.append((key, tuple((source, OneState().read(field, target)) for source, target in moves)))
        return tuple(read)

    def written(self, value: Any) -> Any:
        return {key: dict(moves) for key, moves in value}


@dataclass(frozen=True)
class StateGroups(Structure):
    """For each label, the states that count as it."""

    most: int
    example = MappingProxyType({"no": [0], "yes": [1]})

    @property
    def allowed(self) -> str:  # type: ignore[override]
        return f"an object of 2 to {self.most} labels, each with a list of states"

    def read(self, field: str, value: object) -> tuple[tuple[str, tuple[State, ...]], ...]:
        groups = _pairs(value)
        if groups is None or not 2 <= len(groups) <= self.most:
            raise self.refusal(field, value)
        read = []
        for label, states in groups:
            members = _list(states)
            if not _is_label(label) or not members:
                raise self.refusal(field, value)
            read.append((label, tuple(OneState().read(field, state) for state in members)))
        return tuple(read)

    def written(self, value: Any) -> Any:
        return {label: list(states) for label, states in value}


def _is_label(value: object) -> bool:
    return (
        isinstance(value, str)
        and bool(value.strip())
        and value == value.strip()
        and len(value) <= LABEL_LENGTH
        and value.isprintable()
    )


def _pairs(value: object) -> Sequence[tuple[Any, Any]] | None:
    """The entries of an object by name, since its order is not kept; or the pairs that were made of one."""
    if isinstance(value, Mapping):
        return sorted(value.items(), key=lambda entry: str(entry[0]))
    if isinstance(value, tuple) and all(isinstance(pair, tuple) and len(pair) == 2 for pair in value):
        return value
    return None

"""What the questions share: their events, limits, and helpers for cells and curves."""

from dataclasses import dataclass, replace
from typing import Self

from panprivacy.formats.parameters import described
from panprivacy.formats.structures import EventName, State
from panprivacy.statistics.events.derived import Cells
from panprivacy.statistics.events.regular import RegularParameters

MOST_NAMES = 8
MOST_STATES = 64
MOST_STEPS = 100_000


Moves = tuple[tuple[str, State], ...]
"""From which state to which, as pairs."""


def neutral_names(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(str(number) for number, _ in enumerate(names, start=1))


def cells_from(first: int, cells: int) -> Cells:
    """The cells from `first` on."""
    return frozenset(range(first, cells))


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
        return replace(self, events=neutral_names(self.events))


def steps_text(number: int) -> str:
    return "1 step" if number == 1 else f"{number:,} steps"

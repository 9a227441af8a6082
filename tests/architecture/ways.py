"""Which rooms a piece of work passes, in the order in which they are called. It slows everything down."""

import inspect
import sys
from collections import Counter
from dataclasses import dataclass, field
from functools import cache
from itertools import groupby
from pathlib import Path
from types import FrameType
from typing import Self

ROOT = Path(__file__).resolve().parent.parent.parent
APPS = ROOT / "collections"

ASKED_BY_ALL = {"panprivacy", "web", "storage", "audit"}
"""The mathematics, the ground and the log: every room asks them at any time."""

DOORS = {
    *("access", "actor", "apps", "converters", "models", "plain_address", "signed_in", "urls", "api_urls"),
    "numbers",
}
"""Modules that are no step of a way: what Django calls around every view, rows that are read, and the memory
that the mathematics asks."""


@dataclass(frozen=True)
class Entry:
    """A call from one room into another; `caller` is empty where it comes from outside."""

    caller: str
    room: str
    function: str


@dataclass
class Way:
    """Notes every entry into a room within a `with` block, in this thread. Import what runs there before."""

    entries: list[Entry] = field(default_factory=list)
    _begun: set[FrameType] = field(default_factory=set)

    def __enter__(self) -> Self:
        sys.setprofile(self._note)
        return self

    def __exit__(self, *raised: object) -> None:
        sys.setprofile(None)
        self._begun.clear()

    @property
    def rooms(self) -> list[str]:
        """The rooms in the order in which they are entered; several calls in a row are one visit."""
        return [room for room, _ in groupby(entry.room for entry in self.entries)]

    @property
    def returns(self) -> Counter[str]:
        """Room → how often it is entered again after another was. A call that gives back its answer to its
        caller is no return."""
        return Counter({room: visits - 1 for room, visits in Counter(self.rooms).items() if visits > 1})

    def _note(self, frame: FrameType, event: str, argument: object) -> None:
        if event != "call" or not (room := _room(frame.f_code.co_filename)):
            return
        if frame.f_code.co_flags & inspect.CO_GENERATOR:
            if frame in self._begun:  # it only goes on
                return
            self._begun.add(frame)
        caller = frame.f_back
        while caller is not None and not _room(caller.f_code.co_filename):
            caller = caller.f_back
        came_from = _room(caller.f_code.co_filename) if caller is not None else ""
        if room != came_from:
            self.entries.append(Entry(came_from, room, frame.f_code.co_qualname))


@cache
def _room(file: str) -> str:
    """The room of which this file is a step; empty where it is no step of a way."""
    place = Path(file)
    if APPS not in place.parents or place.stem in DOORS:
        return ""
    room = place.relative_to(APPS).parts[0]
    return "" if room in ASKED_BY_ALL else room

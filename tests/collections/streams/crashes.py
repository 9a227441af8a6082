"""Where a process may be gone while the state of a stream changes."""

from collections.abc import Callable
from typing import Any

from storage.key_slots import KeySlots
from streams import operations
from streams.models import Stream


class CrashError(Exception):
    """The process is gone."""


def crash(*arguments: Any, **named: Any) -> None:
    raise CrashError


def after(function: Callable[..., Any]) -> Callable[..., Any]:
    """Crash once `function` has done its work."""

    def crashing(*arguments: Any, **named: Any) -> None:
        function(*arguments, **named)
        raise CrashError

    return crashing


CRASHES = {
    "before the next key is written": (KeySlots, "write", crash, False),
    "after the next key is written": (KeySlots, "write", after(KeySlots.write), False),
    "after the row is saved": (Stream, "save", after(Stream.save), False),
    "between commit and erasing": (operations, "sync_committed", crash, True),
    "after erasing": (KeySlots, "erase", after(KeySlots.erase), True),
}
"""Point → what is replaced there, and whether the next version is committed by then."""

"""How callers limit the time of a plan: the library has no clock."""

from collections.abc import Callable

Checkpoint = Callable[[], None]
"""Called before every long computation. It raises `OutOfTimeError` when the caller's time is over."""


class OutOfTimeError(Exception):
    """Raised by a checkpoint when time is over. Unfinished results stay unknown."""

"""Turns of requests that compute: reports come in through the same process."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from panprivacy.planning.checkpoint import Checkpoint, OutOfTimeError

AT_ONCE = 2
"""Requests of one web process that compute at a time."""

WAIT_SECONDS = 1.0
"""How long a further one waits for its turn."""

_turns = threading.BoundedSemaphore(AT_ONCE)


class BusyError(Exception):
    """Too many requests compute right now."""


@contextmanager
def turn() -> Iterator[None]:
    """Compute within the block. BusyError where no turn comes in `WAIT_SECONDS`."""
    if not _turns.acquire(timeout=WAIT_SECONDS):
        raise BusyError
    try:
        yield
    finally:
        _turns.release()


def checkpoint_until(seconds: float, clock: Callable[[], float]) -> Checkpoint:
    """A checkpoint that lets so many seconds of a clock pass; with 0 or less, none."""
    deadline = clock() + seconds

    def checkpoint() -> None:
        if seconds <= 0 or clock() > deadline:
            raise OutOfTimeError

    return checkpoint

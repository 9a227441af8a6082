"""Turns of requests that compute: others use the same process."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

AT_ONCE = 2
"""Requests of one web process that compute at a time."""

WAIT_SECONDS = 1.0
"""How long a further one waits for its turn."""

_turns = threading.BoundedSemaphore(AT_ONCE)


class BusyError(Exception):
    """Too many requests compute right now; if no view handles it, the answer is 503 (`errors`)."""


@contextmanager
def turn() -> Iterator[None]:
    """Compute within the block. BusyError if no turn comes in `WAIT_SECONDS`."""
    if not _turns.acquire(timeout=WAIT_SECONDS):
        raise BusyError
    try:
        yield
    finally:
        _turns.release()

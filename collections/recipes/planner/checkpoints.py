"""How long a request or a worker computes."""

from collections.abc import Callable

from panprivacy.planning.checkpoint import Checkpoint, OutOfTimeError


def checkpoint_until(seconds: float, clock: Callable[[], float]) -> Checkpoint:
    """A checkpoint that allows this many seconds of a clock; with 0 or less, none."""
    deadline = clock() + seconds

    def checkpoint() -> None:
        if seconds <= 0 or clock() > deadline:
            raise OutOfTimeError

    return checkpoint

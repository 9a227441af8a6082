"""How callers limit the time of a computation that is deep below them.

A curve is computed point by point, and a number may take hundreds of points of many curves, of any nested
events. So each point, and each transform of a composition, checks whether it may begin; the numbers do not
depend on that.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_before_point: ContextVar[Callable[[], None] | None] = ContextVar("before_point", default=None)


@contextmanager
def interruptible(checkpoint: Callable[[], None]) -> Iterator[None]:
    """Within the block, call `checkpoint` ahead of each point of a curve, each transform and each bound over
    sampled assignments, in this thread.

    Its exception ends the computation. The unfinished number is not remembered; finished ones are. A started
    step is not interrupted: a point takes up to 0.3 s, a transform up to a second.
    """
    token = _before_point.set(checkpoint)
    try:
        yield
    finally:
        _before_point.reset(token)


def interruption_point() -> None:
    """Call the checkpoint of `interruptible`, if there is one."""
    checkpoint = _before_point.get()
    if checkpoint is not None:
        checkpoint()

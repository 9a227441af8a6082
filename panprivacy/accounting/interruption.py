"""How callers limit the time of a computation that is deep below them.

A curve is looked at point by point, and a number may take hundreds of points of many curves, in whatever
events are nested. So each point, and each transform of a composition, asks whether it may begin, and the
numbers know nothing of it.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_before_point: ContextVar[Callable[[], None] | None] = ContextVar("before_point", default=None)


@contextmanager
def interruptible(checkpoint: Callable[[], None]) -> Iterator[None]:
    """Within the block, call `checkpoint` before each point of a curve, each transform and each bound over
    sampled assignments, in this thread.

    What it raises ends the computation: nothing is remembered of the number that was under way, and what was
    finished before stays remembered. What has begun is not interrupted: a point takes up to 0.3 s, a
    transform up to a second.
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

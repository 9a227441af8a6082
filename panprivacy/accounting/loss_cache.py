"""Losses by their curves and ε of events, remembered, for other processes too.

Both are functions of the event and this software alone. So several processes may share a memory
(`cache_set`), and no number depends on whether there is one.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from typing import Protocol

from panprivacy.accounting.interface import PrivacyEvent
from panprivacy.accounting.interruption import interruption_point
from panprivacy.accounting.privacy_loss import Decomposable, Directions, PrivacyLoss, symmetric_loss


class NumberCache(Protocol):
    """The store of numbers, by everything that they depend on. It may forget at any time."""

    def loss_recall(self, event: PrivacyEvent, dots_apart: float) -> PrivacyLoss | None:
        """The value stored by `loss_remember` for the same input and version of the software; None if
        unknown."""

    def loss_remember(self, event: PrivacyEvent, dots_apart: float, loss: PrivacyLoss) -> None:
        """Keep a loss; nothing may be lost of its digits."""

    def epsilon_recall(self, event: PrivacyEvent, delta: float) -> float | None:
        """The value stored by `epsilon_remember` for the same input and version; None if unknown."""

    def epsilon_remember(self, event: PrivacyEvent, delta: float, epsilon: float) -> None:
        """Keep an ε, with all its digits."""


_memory: NumberCache | None = None


def cache_set(memory: NumberCache | None) -> None:
    """The store in which this process looks up numbers; None for no store."""
    global _memory
    _memory = memory


_keeps_nothing: ContextVar[bool] = ContextVar("keeps_nothing", default=False)


@contextmanager
def recalling_only() -> Iterator[None]:
    """Within the block, in this thread, numbers are found in the common memory and none is put there: for
    callers without a limit on different questions."""
    token = _keeps_nothing.set(True)
    try:
        yield
    finally:
        _keeps_nothing.reset(token)


@lru_cache(maxsize=4096)  # pages ask for the same few numbers again and again
def epsilon_at(event: PrivacyEvent, delta: float) -> float:
    """`event.epsilon(delta)`, remembered. Quick events too: their points add up to seconds."""
    known = None if _memory is None else _memory.epsilon_recall(event, delta)
    if known is not None:
        return known
    interruption_point()  # none begins that needs no curve, either
    found = event.epsilon(delta)
    if _memory is not None and not _keeps_nothing.get():
        _memory.epsilon_remember(event, delta, found)
    return found


@lru_cache(maxsize=1024)
def symmetric_loss_of(event: PrivacyEvent, dots_apart: float = 0.0) -> PrivacyLoss:
    """The loss of an event, from its curve alone, remembered; `dots_apart` is its own at least. Of quick
    events too: hundreds of points add up to seconds."""
    apart = max(dots_apart, event.dots_apart)
    known = None if _memory is None else _memory.loss_recall(event, apart)
    if known is not None:
        return known
    found = symmetric_loss(event.delta_bound, apart)
    if _memory is not None and not _keeps_nothing.get():
        _memory.loss_remember(event, apart, found)
    return found


def parts_of(event: PrivacyEvent, dots_apart: float = 0.0) -> tuple[tuple[Directions, int], ...]:
    """The independent parts of any event. If it names none, it is one part, known by its curve alone.

    Args:
        dots_apart: as in `PrivacyEvent`, for a curve that may be known at fewer points.
    """
    if isinstance(event, Decomposable):
        return event.parts()
    loss = symmetric_loss_of(event, dots_apart)
    return (((loss, loss), 1),)

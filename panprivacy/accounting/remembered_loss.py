"""The losses of events by their curves, remembered: where a curve is slow, for other processes too.

A loss is a function of the event and this software alone. So whoever runs several processes may give them a
common memory (`memory_set`), and no number depends on whether there is one.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Protocol

from panprivacy.accounting.interface import PrivacyEvent
from panprivacy.accounting.privacy_loss import Decomposable, Directions, PrivacyLoss, symmetric_loss


class LossMemory(Protocol):
    """Where losses are kept, under everything that they depend on. It may forget at any time."""

    def recall(self, event: PrivacyEvent, dots_apart: float) -> PrivacyLoss | None:
        """What `remember` was given for the same, by this version of the software; None if unknown."""

    def remember(self, event: PrivacyEvent, dots_apart: float, loss: PrivacyLoss) -> None:
        """Keep a loss; nothing may be lost of its digits."""


_memories: list[LossMemory] = []  # one at most


def memory_set(memory: LossMemory | None) -> None:
    """Where this process looks for losses of events that are not `quick`; None for nowhere."""
    _memories[:] = [] if memory is None else [memory]


@lru_cache(maxsize=1024)
def symmetric_loss_of(event: PrivacyEvent, dots_apart: float = 0.0) -> PrivacyLoss:
    """The loss of an event, from its curve alone; `dots_apart` is its own at least."""
    return _recalled_or_computed(event, dots_apart, lambda: None)


def loss_prepare(event: PrivacyEvent, checkpoint: Callable[[], None]) -> None:
    """Have the memory know the loss that composing an event takes.

    Args:
        event: with no parts. Nothing happens where it is `quick`.
        checkpoint: called before each point of the curve. What it raises ends the computation, and nothing is
            remembered.
    """
    if not event.quick:
        _recalled_or_computed(event, 0.0, checkpoint)


def parts_of(event: PrivacyEvent, dots_apart: float = 0.0) -> tuple[tuple[Directions, int], ...]:
    """The independent parts of any event. Where it names none, it is one part, known by its curve alone.

    Args:
        dots_apart: as of `PrivacyEvent`, for a curve that may be known at fewer points.
    """
    if isinstance(event, Decomposable):
        return event.parts()
    loss = symmetric_loss_of(event, dots_apart)
    return (((loss, loss), 1),)


def _recalled_or_computed(
    event: PrivacyEvent, dots_apart: float, checkpoint: Callable[[], None]
) -> PrivacyLoss:
    def delta(epsilon: float) -> float:
        checkpoint()
        return event.delta_bound(epsilon)

    apart = max(dots_apart, event.dots_apart)
    memories = [] if event.quick else _memories
    for memory in memories:
        known = memory.recall(event, apart)
        if known is not None:
            return known
    found = symmetric_loss(delta, apart)
    for memory in memories:
        memory.remember(event, apart, found)
    return found

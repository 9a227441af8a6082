"""A cache of numbers: losses by their curves and ε of events, for other processes too.

Both are functions of the event and this software alone. So several processes may share a cache (`cache_set`),
and no number depends on whether there is one. `number_key` has the version of the software in it.
"""

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from importlib.metadata import version
from typing import Any, Protocol

from panprivacy.accounting.interface import PrivacyEvent
from panprivacy.accounting.privacy_loss import Decomposable, Directions, PrivacyLoss, symmetric_loss

VERSION = 6
"""Raise it whenever any number changes: what is cached by other versions is not taken over."""

SOFTWARE = (f"numbers {VERSION}", *(f"{name} {version(name)}" for name in ("numpy", "scipy")))
"""What computes the numbers; another version's are not taken over."""


def number_key(*of: Any) -> str:
    """The key of what is computed of these: 64 hexadecimal digits, others for another version of it.

    Args:
        of: plain values for JSON, the first one a word for what is computed of the others. The order of
            fields does not matter.
    """
    content = json.dumps([SOFTWARE, *of], sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()


class NumberCache(Protocol):
    """A store of numbers, by everything that they depend on. It may drop them at any time."""

    def loss_get(self, event: PrivacyEvent, dots_apart: float) -> PrivacyLoss | None:
        """The value stored by `loss_set` for the same input and version of the software; None if
        unknown."""

    def loss_set(self, event: PrivacyEvent, dots_apart: float, loss: PrivacyLoss) -> None:
        """Keep a loss; nothing may be lost of its digits."""

    def epsilon_get(self, event: PrivacyEvent, delta: float) -> float | None:
        """The value stored by `epsilon_set` for the same input and version; None if unknown."""

    def epsilon_set(self, event: PrivacyEvent, delta: float, epsilon: float) -> None:
        """Keep an ε, with all its digits."""


_cache: NumberCache | None = None


def cache_set(cache: NumberCache | None) -> None:
    """The cache that this process shares with others; None for no cache."""
    global _cache
    _cache = cache


_read_only: ContextVar[bool] = ContextVar("read_only", default=False)


@contextmanager
def cache_read_only() -> Iterator[None]:
    """Within the block, in this thread, numbers are found in the common cache and none is put there: for
    callers without a limit on different questions."""
    token = _read_only.set(True)
    try:
        yield
    finally:
        _read_only.reset(token)


@lru_cache(maxsize=4096)  # pages ask for the same few numbers again and again
def epsilon_at(event: PrivacyEvent, delta: float) -> float:
    """`event.epsilon(delta)`, or what the cache has for it. Quick events too: their points add up to
    seconds."""
    known = None if _cache is None else _cache.epsilon_get(event, delta)
    if known is not None:
        return known
    found = event.epsilon(delta)
    if _cache is not None and not _read_only.get():
        _cache.epsilon_set(event, delta, found)
    return found


@lru_cache(maxsize=1024)
def symmetric_loss_of(event: PrivacyEvent, dots_apart: float = 0.0) -> PrivacyLoss:
    """The loss of an event, from its curve alone, or what the cache has for it; `dots_apart` is its own at
    least. Of quick events too: hundreds of points add up to seconds."""
    apart = max(dots_apart, event.dots_apart)
    known = None if _cache is None else _cache.loss_get(event, apart)
    if known is not None:
        return known
    found = symmetric_loss(event.delta_bound, apart)
    if _cache is not None and not _read_only.get():
        _cache.loss_set(event, apart, found)
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

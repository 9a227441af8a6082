"""How much memory something takes."""

import tracemalloc
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def peak_of(action: Callable[[], T]) -> tuple[T, int]:
    """What `action` returns, and the most bytes that Python held for it at once."""
    tracemalloc.start()
    try:
        result = action()
        return result, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

"""JSON objects that name each field once, because readers differ in which of two they take."""

from collections import Counter
from collections.abc import Callable
from typing import Any


def without_repetition(pairs: list[tuple[str, Any]], refuse: Callable[[str], None]) -> dict[str, Any]:
    """The object to return from the `object_pairs_hook` of `json.loads`.

    Args:
        pairs: its fields in their order.
        refuse: raises the error for a name that occurs more than once; if it does not raise, the last one
            counts.
    """
    members = dict(pairs)
    # Most objects repeat nothing, and reports are read with this: only others are counted.
    if len(members) < len(pairs):
        for name, times in Counter(name for name, _ in pairs).items():
            if times > 1:
                refuse(name)
    return members

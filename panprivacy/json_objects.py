"""Objects of JSON that name each member once: readers differ in which of two they take."""

from collections import Counter
from collections.abc import Callable
from typing import Any


def without_repetition(pairs: list[tuple[str, Any]], refuse: Callable[[str], None]) -> dict[str, Any]:
    """The object, as `object_pairs_hook` of `json.loads` is to return it.

    Args:
        pairs: its members in their order.
        refuse: raises the error for a name that stands there more than once; where it does not, the last
            one counts.
    """
    members = dict(pairs)
    # Most objects repeat nothing, and reports are read with this: only others are counted.
    if len(members) < len(pairs):
        for name, times in Counter(name for name, _ in pairs).items():
            if times > 1:
                refuse(name)
    return members

"""What a process has loaded that imported nothing but this."""

import sys
from collections.abc import Iterable, Iterator


def are_loaded(modules: Iterable[str]) -> Iterator[bool]:
    """Of each module, whether it is there already."""
    for module in modules:
        yield module in sys.modules

"""Theorems of the papers, shown: each by an attack, a measured error or a bound; this is the registry."""

from collections.abc import Callable

from panprivacy.theory import (
    announced_intrusions,
    distinct_and_uniform,
    encryption_from_counter,
    square_root_of_t,
    two_intrusions,
)
from panprivacy.theory.demonstration import Demonstration

_MODULES = (
    square_root_of_t,
    two_intrusions,
    announced_intrusions,
    distinct_and_uniform,
    encryption_from_counter,
)

DEMONSTRATIONS: dict[str, Callable[[int], Demonstration]] = {
    module.KEY: module.demonstrate for module in _MODULES
}
"""Name → the function that computes it from a seed, in the order of the page."""

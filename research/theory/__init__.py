"""Theorems of the papers, shown: each by an attack, a measured error or a bound; this is the registry.

`results` computes all demonstrations and reads the stored ones; `demonstration` has the classes that they
consist of.
"""

from collections.abc import Callable

from research.theory import (
    announced_intrusions,
    distinct_and_uniform,
    encryption_from_counter,
    encryption_from_few_bits,
    one_coin,
    square_root_of_t,
    two_intrusions,
)
from research.theory.demonstration import Demonstration

__all__ = ["DEMONSTRATIONS", "demonstration", "results"]

_MODULES = (
    square_root_of_t,
    two_intrusions,
    announced_intrusions,
    distinct_and_uniform,
    encryption_from_counter,
    encryption_from_few_bits,
    one_coin,
)

DEMONSTRATIONS: dict[str, Callable[[int], Demonstration]] = {
    module.KEY: module.demonstrate for module in _MODULES
}
"""Name → the function that computes it from a seed, in the order of the page."""

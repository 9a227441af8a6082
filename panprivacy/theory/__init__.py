"""Theorems of the papers, shown: each by an attack, a measured error or a bound; this is the registry."""

from collections.abc import Callable

from panprivacy.theory import encryption_from_counter, square_root_of_t
from panprivacy.theory.demonstration import Demonstration

DEMONSTRATIONS: dict[str, Callable[[int], Demonstration]] = {
    square_root_of_t.KEY: square_root_of_t.demonstrate,
    encryption_from_counter.KEY: encryption_from_counter.demonstrate,
}
"""Name → the function that computes it from a seed, in the order of the page."""

"""Statistics of values that devices have once and randomize themselves; this is the registry.

A randomizer is one class with three faces: what a device makes of its value, what the servers make of the
sum, and what the accountant is told. A new one is one file, one line of `RANDOMIZERS` and one test module.
`interface` has the base class; `rare_parameters` and `participation` belong to `rare_categories`, `rotation`
to `vector_mean`. This room knows nothing of recipes, nor of how reports travel.
"""

from typing import Any

from panprivacy.randomizers.categories import Categories
from panprivacy.randomizers.interface import Randomizer
from panprivacy.randomizers.rare_categories import RareCategories
from panprivacy.randomizers.vector_mean import VectorMean

__all__ = ["RANDOMIZERS"]

RANDOMIZERS: dict[str, type[Randomizer[Any, Any]]] = {
    randomizer.statistic: randomizer for randomizer in (Categories, RareCategories, VectorMean)
}
"""Registered name → class."""

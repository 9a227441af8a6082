"""Statistics of values that devices have once and randomize themselves; this is the registry.

A randomizer is one class with three parts: the device's report from its value, the servers' estimate from the
sum, and the accountant's event. A new one is one file, one line of `RANDOMIZERS` and one test module.
`interface` has the base class; `rare_parameters` and `participation` belong to `rare_categories`, `rotation`
to `vector_mean`. This package does not depend on recipes or on transport.
"""

from typing import Any

from panprivacy.statistics.randomized.categories import Categories
from panprivacy.statistics.randomized.interface import Randomizer
from panprivacy.statistics.randomized.rare_categories import RareCategories
from panprivacy.statistics.randomized.vector_mean import VectorMean

__all__ = ["RANDOMIZERS"]

RANDOMIZERS: dict[str, type[Randomizer[Any, Any]]] = {
    randomizer.statistic: randomizer for randomizer in (Categories, RareCategories, VectorMean)
}
"""Registered name → class."""

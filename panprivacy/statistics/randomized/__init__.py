"""Statistics of values that devices have once and randomize themselves; this is the registry.

A randomizer is one class with three parts: the device's report from its value, the servers' estimate from the
sum, and the accountant's event. A new one is one file, one line of `RANDOMIZERS` and one test module.
`interface` has the base class. This package does not depend on recipes or on transport.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from panprivacy.formats.registry import Registry

if TYPE_CHECKING:
    from panprivacy.statistics.interface import SizeBounds
    from panprivacy.statistics.randomized.interface import Randomizer

__all__ = ["RANDOMIZERS", "SIZE_BOUNDS"]

RANDOMIZERS: Registry[type["Randomizer[Any, Any]"]] = Registry(
    __name__,
    {
        "categories": "categories:Categories",
        "rare_categories": "rare_categories:RareCategories",
        "vector_mean": "vector_mean:VectorMean",
    },
)
"""Registered name → class."""

SIZE_BOUNDS: Registry[Callable[[Any], "SizeBounds"]] = Registry(
    __name__, {"categories": "categories:CategorySizeBounds"}
)
"""Bounds of the numbers of devices, from results of those that have them; each takes the statistic."""

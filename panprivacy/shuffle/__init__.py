"""Robust shuffle protocols: statistics of values that users send through a shuffler; this is the registry.

A new one is one file, one line of `SHUFFLE_STATISTICS` and one test module. `interface` has the base class,
`shuffler` the shuffle itself. This room knows nothing of encryption or requests, and only `recipe_statistic`
knows of recipes.
"""

from typing import Any

from panprivacy.shuffle.distinct_elements import DistinctElements
from panprivacy.shuffle.histogram import ShuffleHistogram
from panprivacy.shuffle.interface import ShuffleStatistic
from panprivacy.shuffle.uniformity import Uniformity

__all__ = ["SHUFFLE_STATISTICS"]

SHUFFLE_STATISTICS: dict[str, type[ShuffleStatistic[Any]]] = {
    statistic.statistic: statistic for statistic in (DistinctElements, Uniformity, ShuffleHistogram)
}
"""Registered name → class."""

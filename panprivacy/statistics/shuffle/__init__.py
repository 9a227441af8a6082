"""Robust shuffle protocols: statistics of values that users send through a shuffler; this is the registry.

A new one is one file, one line of `SHUFFLE_STATISTICS` and one test module. `interface` has the base class,
`shuffler` the shuffle itself. It knows nothing of encryption, requests or recipes.
"""

from typing import Any

from panprivacy.statistics.shuffle.distinct_elements import DistinctElements
from panprivacy.statistics.shuffle.histogram import ShuffleHistogram
from panprivacy.statistics.shuffle.interface import ShuffleStatistic
from panprivacy.statistics.shuffle.uniformity import Uniformity

__all__ = ["SHUFFLE_STATISTICS"]

SHUFFLE_STATISTICS: dict[str, type[ShuffleStatistic[Any]]] = {
    statistic.statistic: statistic for statistic in (DistinctElements, Uniformity, ShuffleHistogram)
}
"""Registered name → class."""

"""Robust shuffle protocols: statistics of values that users send through a shuffler; this is the registry.

A new one is one file, one line of `SHUFFLE_STATISTICS` and one test module. `interface` has the base class,
`shuffler` the shuffle itself. It knows nothing of encryption, requests or recipes.
"""

from typing import TYPE_CHECKING, Any

from panprivacy.formats.registry import Registry

if TYPE_CHECKING:
    from panprivacy.statistics.shuffle.interface import ShuffleStatistic

__all__ = ["SHUFFLE_STATISTICS"]

SHUFFLE_STATISTICS: Registry[type["ShuffleStatistic[Any]"]] = Registry(
    __name__,
    {
        "distinct_elements": "distinct_elements:DistinctElements",
        "uniformity": "uniformity:Uniformity",
        "shuffle_histogram": "histogram:ShuffleHistogram",
    },
)
"""Registered name → class."""

"""Robust shuffle protocols: what devices can send through a shuffler; this is the registry."""

from typing import Any

from panprivacy.shuffle.distinct_elements import DistinctElements
from panprivacy.shuffle.histogram import ShuffleHistogram
from panprivacy.shuffle.interface import ShuffleStatistic
from panprivacy.shuffle.uniformity import Uniformity

SHUFFLE_STATISTICS: dict[str, type[ShuffleStatistic[Any]]] = {
    statistic.statistic: statistic for statistic in (DistinctElements, Uniformity, ShuffleHistogram)
}
"""Registered name → class."""

"""Pan-private streaming algorithms: the state of a curator, which an intruder may read; this is the registry.

A new one is one file, one line of `STREAM_STATISTICS` and one test module. `interface` has the base class,
`state` the state that a curator stores. This package knows nothing of recipes, files, locks or pages.
"""

from typing import Any

# Every class of samples registers itself in the table for lookups: SAMPLES.
from panprivacy.statistics.streams import hashed_sample, known_sample, multi_scale_sample  # noqa: F401  # see above
from panprivacy.statistics.streams.cropped_mean import CroppedMean
from panprivacy.statistics.streams.density import Density
from panprivacy.statistics.streams.heavy_hitters import HeavyHitters
from panprivacy.statistics.streams.incidence import Incidence
from panprivacy.statistics.streams.interface import StreamStatistic
from panprivacy.statistics.streams.mod_incidence import ModIncidence
from panprivacy.statistics.streams.pan_histogram import PanHistogram

__all__ = ["STREAM_STATISTICS"]

STREAM_STATISTICS: dict[str, type[StreamStatistic[Any]]] = {
    statistic.statistic: statistic
    for statistic in (Density, CroppedMean, HeavyHitters, Incidence, ModIncidence, PanHistogram)
}
"""Registered name → class."""

"""Pan-private streaming algorithms: what a curator keeps whose state may be read; this is the registry.

A new one is one file, one line of `STREAM_STATISTICS` and one test module. `interface` has the base class,
`state` the state that a curator stores. This room knows nothing of recipes, files, locks or pages.
"""

from typing import Any

# Every kind of sample enters itself where it can be looked up: SAMPLES.
from panprivacy.streams import hashed_sample, known_sample, many_sizes  # noqa: F401  # see above
from panprivacy.streams.cropped_mean import CroppedMean
from panprivacy.streams.density import Density
from panprivacy.streams.heavy_hitters import HeavyHitters
from panprivacy.streams.incidence import Incidence
from panprivacy.streams.interface import StreamStatistic
from panprivacy.streams.mod_incidence import ModIncidence
from panprivacy.streams.pan_histogram import PanHistogram

__all__ = ["STREAM_STATISTICS"]

STREAM_STATISTICS: dict[str, type[StreamStatistic[Any]]] = {
    statistic.statistic: statistic
    for statistic in (Density, CroppedMean, HeavyHitters, Incidence, ModIncidence, PanHistogram)
}
"""Registered name → class."""

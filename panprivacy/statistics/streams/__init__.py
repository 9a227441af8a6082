"""Pan-private streaming algorithms: the state of a curator, which an intruder may read; this is the registry.

A new one is one file, one line of `STREAM_STATISTICS` and one test module. `interface` has the base class,
`state` the state that a curator stores. This package knows nothing of recipes, files, locks or pages.
"""

from typing import TYPE_CHECKING, Any

from panprivacy.formats.registry import Registry

if TYPE_CHECKING:
    from panprivacy.statistics.streams.interface import StreamStatistic

__all__ = ["STREAM_STATISTICS"]

STREAM_STATISTICS: Registry[type["StreamStatistic[Any]"]] = Registry(
    __name__,
    {
        "density": "density:Density",
        "cropped_mean": "cropped_mean:CroppedMean",
        "heavy_hitters": "heavy_hitters:HeavyHitters",
        "incidence": "incidence:Incidence",
        "mod_incidence": "mod_incidence:ModIncidence",
        "pan_histogram": "pan_histogram:PanHistogram",
    },
)
"""Registered name → class."""

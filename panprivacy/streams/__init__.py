"""Pan-private streaming algorithms: what a curator keeps who may be intruded upon; this is the registry."""

from typing import Any

from panprivacy.streams.cropped_mean import CroppedMean
from panprivacy.streams.density import Density
from panprivacy.streams.interface import StreamStatistic

STREAM_STATISTICS: dict[str, type[StreamStatistic[Any]]] = {
    statistic.statistic: statistic for statistic in (Density, CroppedMean)
}
"""Registered name → class."""

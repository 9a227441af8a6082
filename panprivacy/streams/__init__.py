"""Pan-private streaming algorithms: what a curator keeps who may be intruded upon; this is the registry."""

from typing import Any

from panprivacy.streams.incidence import Incidence
from panprivacy.streams.interface import StreamStatistic
from panprivacy.streams.mod_incidence import ModIncidence

STREAM_STATISTICS: dict[str, type[StreamStatistic[Any]]] = {
    statistic.statistic: statistic for statistic in (ModIncidence, Incidence)
}
"""Registered name → class."""

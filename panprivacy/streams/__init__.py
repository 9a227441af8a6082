"""Pan-private streaming algorithms: what a curator keeps who may be intruded upon; this is the registry."""

from typing import Any

from panprivacy.streams.interface import StreamStatistic

STREAM_STATISTICS: dict[str, type[StreamStatistic[Any]]] = {}
"""Registered name → class."""

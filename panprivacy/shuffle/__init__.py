"""Robust shuffle protocols: what devices can send through a shuffler; this is the registry."""

from typing import Any

from panprivacy.shuffle.interface import ShuffleStatistic

SHUFFLE_STATISTICS: dict[str, type[ShuffleStatistic[Any]]] = {}
"""Registered name → class."""

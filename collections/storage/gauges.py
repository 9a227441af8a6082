"""What collectors of metrics are made of."""

from datetime import datetime
from typing import Any

from django.db.models import Min, QuerySet
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector


class DatabaseCollector(Collector):
    """Reads the database at every scrape."""

    def describe(self) -> list[GaugeMetricFamily]:
        """Nothing: registering must not read the database."""
        return []


def gauge(name: str, text: str, value: float) -> GaugeMetricFamily:
    """One number that may rise and fall."""
    return GaugeMetricFamily(name, text, value=value)


def seconds_since_first(now: datetime, column: str, *tables: QuerySet[Any]) -> float:
    """Since the earliest time in a column of these rows; 0 if there is none, or that time is in
    the future."""
    moments = [rows.aggregate(at=Min(column))["at"] for rows in tables]
    first = min((moment for moment in moments if moment is not None), default=now)
    return max(0.0, (now - first).total_seconds())

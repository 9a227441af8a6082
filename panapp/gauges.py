"""What collectors of metrics are made of."""

from datetime import datetime

from django.db.models import Model, QuerySet, Sum
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


def total(rows: QuerySet[Model], column: str) -> int:
    """Sum of a column; 0 of no rows."""
    return rows.aggregate(sum=Sum(column))["sum"] or 0


def seconds_since(moment: datetime | None, now: datetime) -> float:
    """0 where there is no such moment, or where it is still to come."""
    return 0.0 if moment is None else max(0.0, (now - moment).total_seconds())

"""How far clocks are apart, for `/metrics` (metrics.py)."""

from collections.abc import Iterator

from prometheus_client.core import GaugeMetricFamily

from storage import clock
from storage.gauges import DatabaseCollector, gauge


class ClocksCollector(DatabaseCollector):
    """The database's clock compared with this process's and those of the machines that read it."""

    def collect(self) -> Iterator[GaugeMetricFamily]:
        noted = clock.recent_notes()
        yield gauge(
            "panapp_clock_ahead_seconds",
            "By how much this process's clock is before the database's; negative behind it.",
            clock.process_ahead(),
        )
        yield gauge(
            "panapp_clock_skew_seconds",
            "Largest difference of a working machine's clock from the database's.",
            max((abs(row.ahead_seconds) for row in noted), default=0.0),
        )
        yield gauge(
            "panapp_clock_doubted",
            "Machines for which the database's clock jumped, so that nothing is closed or deleted by it yet.",
            sum(row.doubted_at is not None for row in noted),
        )

"""What an analyzer waits for: its shuffler. For `/metrics` (metrics.py)."""

from collections.abc import Iterator

from django.utils import timezone
from prometheus_client.core import GaugeMetricFamily

from shuffle.analyzer.models import BatchFetch
from storage.gauges import DatabaseCollector, gauge, seconds_since_first


class FetchesCollector(DatabaseCollector):
    """Batches that a shuffler holds for us, read from the database at every scrape."""

    def collect(self) -> Iterator[GaugeMetricFamily]:
        there = BatchFetch.objects.filter(is_deleted_there=False)
        yield gauge(
            "panapp_intakes", "Recipes whose messages the shuffler has not deleted yet.", there.count()
        )
        yield gauge(
            "panapp_shuffler_failing_seconds",
            "For how long the longest failing request to a shuffler has failed.",
            seconds_since_first(timezone.now(), "failing_since", there),
        )

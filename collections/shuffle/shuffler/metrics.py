"""The state of a shuffler's batches, for `/metrics` (metrics.py)."""

from collections.abc import Iterator

from django.db.models import Count
from prometheus_client.core import GaugeMetricFamily

from shuffle.shuffler.models import Batch
from storage.columns import total
from storage.gauges import DatabaseCollector, gauge


class BatchesCollector(DatabaseCollector):
    """What a shuffler holds, read from the database at every scrape."""

    def collect(self) -> Iterator[GaugeMetricFamily]:
        batches = GaugeMetricFamily(
            "panapp_batches", "Batches of a shuffler that have not ended, by state.", labels=("state",)
        )
        counts = dict(Batch.objects.values_list("state").annotate(Count("pk")).order_by("state"))
        for state in Batch.State:
            if state != Batch.State.ENDED:
                batches.add_metric((state.value,), counts.get(state.value, 0))
        yield batches
        yield gauge(
            "panapp_batch_users",
            "Users in batches that have not ended.",
            total(Batch.objects.exclude(state=Batch.State.ENDED), "users"),
        )

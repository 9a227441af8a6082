"""The state of the tasks of two-server collections on this side, for `/metrics` (metrics.py)."""

from collections.abc import Iterator

from prometheus_client.core import GaugeMetricFamily

from dap.models import Task
from storage.gauges import DatabaseCollector, gauge


class TasksCollector(DatabaseCollector):
    """What leader and helper both have, read from the database at every scrape.

    Neither shows how many reports it found valid or rejected: that changes while single ones are verified.
    """

    def collect(self) -> Iterator[GaugeMetricFamily]:
        yield gauge(
            "panapp_tasks_running",
            "Two-server tasks that have not ended.",
            Task.objects.exclude(state=Task.State.ENDED).count(),
        )

"""How the tasks of two-server collections stand on this side, for `/metrics` (metrics.py)."""

from collections.abc import Iterator

from django.db.models import Sum
from prometheus_client.core import GaugeMetricFamily

from dap.models import BatchBucket, ReportRejection, Task
from panapp.gauges import DatabaseCollector, gauge, total


class TasksCollector(DatabaseCollector):
    """What leader and helper both count, read from the database at every scrape."""

    def collect(self) -> Iterator[GaugeMetricFamily]:
        yield gauge(
            "panapp_tasks_running",
            "Two-server tasks that have not ended.",
            Task.objects.exclude(state=Task.State.ENDED).count(),
        )
        yield gauge(
            "panapp_task_reports_aggregated",
            "Reports in sums of two-server tasks that have not ended.",
            total(BatchBucket.objects.exclude(task__state=Task.State.ENDED), "report_count"),
        )
        rejected = GaugeMetricFamily(
            "panapp_task_reports_rejected",
            "Reports of two-server tasks that were rejected, by who rejected them and why.",
            labels=("side", "reason"),
        )
        counts = ReportRejection.objects.values_list("side", "reason").annotate(Sum("count"))
        for side, reason, count in counts.order_by("side", "reason"):
            rejected.add_metric((side, reason), count)
        yield rejected

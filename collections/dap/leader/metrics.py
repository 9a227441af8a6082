"""What a leader waits for: workers, and its helper. For `/metrics` (metrics.py)."""

from collections.abc import Iterator

from django.utils import timezone
from prometheus_client.core import GaugeMetricFamily

from dap.leader.models import Uploads
from dap.leader.selectors import exchanges
from dap.models import AggregatedReport, Side
from storage.columns import total
from storage.gauges import DatabaseCollector, gauge, seconds_since_first


class LeaderCollector(DatabaseCollector):
    """The leader's waiting lines, read from the database at every scrape."""

    def collect(self) -> Iterator[GaugeMetricFamily]:
        now = timezone.now()
        requests = exchanges()
        yield gauge(
            "panapp_task_reports_received",
            "Reports of two-server tasks that have not ended, valid or not.",
            AggregatedReport.objects.filter(task__side=Side.LEADER).count(),
        )
        yield gauge(
            "panapp_task_reports_waiting",
            "Reports of two-server tasks that both servers have not verified yet.",
            total(Uploads.objects.all(), "count"),
        )
        yield gauge(
            "panapp_helper_requests",
            "Requests that the helper has not answered yet.",
            sum(rows.count() for rows in requests),
        )
        yield gauge(
            "panapp_helper_requests_failing",
            "Requests whose last attempt failed.",
            sum(rows.exclude(failing_since=None).count() for rows in requests),
        )
        yield gauge(
            "panapp_helper_failing_seconds",
            "For how long the longest failing of them has failed: grows when the helper is not reached.",
            seconds_since_first(now, "failing_since", *requests),
        )
        yield gauge(
            "panapp_helper_request_overdue_seconds",
            "How long a request has waited to be sent: grows when beat or workers stand still.",
            seconds_since_first(now, "send_after", *requests),
        )

"""What a leader waits for: workers, and its helper. For `/metrics` (metrics.py)."""

from collections.abc import Iterator

from django.db.models import Min, QuerySet
from django.utils import timezone
from prometheus_client.core import GaugeMetricFamily

from leader.models import AggregationJob, CollectionJob, EndNotice, Exchange, Uploads
from panapp.gauges import DatabaseCollector, gauge, seconds_since, total


class LeaderCollector(DatabaseCollector):
    """The leader's waiting lines, read from the database at every scrape."""

    def collect(self) -> Iterator[GaugeMetricFamily]:
        now = timezone.now()
        requests = _requests_to_the_helper()
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
        failing_since = [rows.aggregate(at=Min("failing_since"))["at"] for rows in requests]
        yield gauge(
            "panapp_helper_failing_seconds",
            "For how long the longest failing of them has failed: grows when the helper is not reached.",
            seconds_since(min((at for at in failing_since if at is not None), default=None), now),
        )
        sent_after = [rows.aggregate(at=Min("send_after"))["at"] for rows in requests]
        yield gauge(
            "panapp_helper_request_overdue_seconds",
            "How long a request has waited to be sent: grows when beat or workers stand still.",
            seconds_since(min((at for at in sent_after if at is not None), default=None), now),
        )


def _requests_to_the_helper() -> list[QuerySet[Exchange]]:
    asking = CollectionJob.objects.filter(state=CollectionJob.State.ASKING)
    return [AggregationJob.objects.all(), asking, EndNotice.objects.all()]

"""The state of the public log, for `/metrics` (metrics.py)."""

from collections.abc import Iterator

from django.utils import timezone
from prometheus_client.core import GaugeMetricFamily

from log.audit.models import Entry
from log.public_log.lost_states import lost_state
from log.public_log.models import AskedWitness, Fork, Tree
from storage.gauges import DatabaseCollector, gauge, seconds_since_first


class LogCollector(DatabaseCollector):
    """The installation's own log, its witnesses, and what it saw as a witness; read at every scrape."""

    def collect(self) -> Iterator[GaugeMetricFamily]:
        now, tree = timezone.now(), Tree.objects.first()
        size = 0 if tree is None else tree.size
        failing = AskedWitness.objects.exclude(failing_since=None)
        yield gauge("panapp_log_entries", "Entries of the public log, all of them signed.", size)
        yield gauge(
            "panapp_log_overdue_seconds",
            "How long an entry has waited to be signed: grows when beat stands still, or entries were lost.",
            seconds_since_first(now, "at", Entry.objects.filter(index__gt=size)),
        )
        yield gauge("panapp_log_stopped", "1 if entries were lost.", int(lost_state() is not None))
        yield gauge("panapp_log_witnesses_failing", "Witnesses that did not sign.", failing.count())
        yield gauge(
            "panapp_log_witness_failing_seconds",
            "How long the longest failing of them has failed.",
            seconds_since_first(now, "failing_since", failing),
        )
        yield gauge(
            "panapp_log_forks",
            "Times that a log witnessed here signed two states of one size.",
            Fork.objects.count(),
        )

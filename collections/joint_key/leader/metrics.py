"""What a leader of recipes with a joint key waits for: its helper. For `/metrics` (metrics.py)."""

from collections.abc import Iterator

from django.utils import timezone
from prometheus_client.core import GaugeMetricFamily

from joint_key.leader.models import JointSum
from storage.gauges import DatabaseCollector, gauge, seconds_since_first


class SumsCollector(DatabaseCollector):
    """Sums that a helper takes part in, read from the database at every scrape."""

    def collect(self) -> Iterator[GaugeMetricFamily]:
        waiting = JointSum.objects.filter(is_deleted_there=False)
        yield gauge(
            "panapp_joint_key_failing_seconds",
            "For how long the longest failing request to the helper of a joint key has failed.",
            seconds_since_first(timezone.now(), "failing_since", waiting),
        )

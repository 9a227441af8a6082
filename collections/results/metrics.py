"""The state of the collections, for `/metrics` (metrics.py)."""

from collections.abc import Iterator

from django.utils import timezone
from prometheus_client.core import GaugeMetricFamily

from recipes.models import Recipe
from reports.models import StoredReports
from reports.store import Step
from results.aggregation.models import Chunk, SubAggregate
from storage.columns import total
from storage.gauges import DatabaseCollector, gauge, seconds_since_first

MANY_ATTEMPTS = 3
"""A chunk that was sent again more often than this does not fail by chance."""


class CollectionsCollector(DatabaseCollector):
    """The state of the collections, read from the database at every scrape."""

    def collect(self) -> Iterator[GaugeMetricFamily]:
        now = timezone.now()
        unreleased = Recipe.objects.filter(release=None)
        chunks = Chunk.objects.all()
        due = Recipe.objects.filter(status=Recipe.Status.PUBLISHED, simulation=False)
        yield gauge(
            "panapp_recipes_open",
            "Published recipes.",
            unreleased.filter(status=Recipe.Status.PUBLISHED).count(),
        )
        yield gauge(
            "panapp_recipes_closed_unreleased",
            "Closed recipes whose result is neither released nor withheld yet.",
            unreleased.filter(status=Recipe.Status.CLOSED).count(),
        )
        yield gauge(
            "panapp_reports_waiting",
            "Reports stored, not yet decrypted.",
            total(StoredReports.objects.all(), "count")
            # In the object store: of recipes that are closed. Those of open ones are not decrypted yet.
            + total(chunks.exclude(step=Step.SUM), "count"),
        )
        yield gauge(
            "panapp_reports_summed",
            "Reports in sums that wait for their release.",
            total(SubAggregate.objects.all(), "reports"),
        )
        yield gauge("panapp_chunks", "Chunks of reports that a worker should take in.", chunks.count())
        yield gauge(
            "panapp_chunks_failing",
            f"Chunks sent again more than {MANY_ATTEMPTS} times.",
            chunks.filter(attempts__gt=MANY_ATTEMPTS).count(),
        )
        yield gauge(
            "panapp_chunk_overdue_seconds",
            "How long a chunk has waited to be sent again: grows when beat stands still.",
            seconds_since_first(now, "send_after", chunks),
        )
        yield gauge(
            "panapp_closing_overdue_seconds",
            "How long ago a recipe that is still open should have closed: grows when beat stands still.",
            seconds_since_first(now, "closes_at", due),
        )

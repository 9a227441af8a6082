"""Numbers for operators, in the text format of Prometheus.

They are sums over all recipes, but exact and live: whoever may watch them could tell
that one more report came in. Hence the token.
"""

import hmac
import os
from collections.abc import Iterator
from datetime import datetime

import prometheus_client
from django.conf import settings
from django.db.models import Min, Model, QuerySet, Sum
from django.http import Http404, HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from prometheus_client import CollectorRegistry, generate_latest, multiprocess
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from aggregation.models import Chunk, SubAggregate
from recipes.models import Recipe
from reports.models import StoredReports

MANY_ATTEMPTS = 3
"""A chunk that was sent again more often than this does not fail by chance."""


@never_cache
@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """What Prometheus scrapes, for holders of PANAPP_METRICS_TOKEN.

    Without that setting a local installation answers (it serves this machine only), and
    one in production has no such page.
    """
    if settings.METRICS_TOKEN is None:
        if not settings.LOCAL:
            raise Http404
    elif not _bears(request, settings.METRICS_TOKEN):
        refusal = HttpResponse("A bearer token is needed.\n", status=401, content_type="text/plain")
        refusal["WWW-Authenticate"] = 'Bearer realm="metrics"'
        return refusal
    collections = CollectorRegistry()
    collections.register(CollectionsCollector())
    return HttpResponse(
        generate_latest(_process_registry()) + generate_latest(collections),
        content_type=prometheus_client.CONTENT_TYPE_LATEST,
    )


class CollectionsCollector(Collector):
    """How the collections stand, read from the database at every scrape."""

    def describe(self) -> list[GaugeMetricFamily]:
        """Nothing: registering must not read the database."""
        return []

    def collect(self) -> Iterator[GaugeMetricFamily]:
        now = timezone.now()
        unreleased = Recipe.objects.filter(release=None)
        chunks = Chunk.objects.all()
        overdue_since = Recipe.objects.filter(status=Recipe.Status.PUBLISHED, simulation=False).aggregate(
            at=Min("closes_at")
        )["at"]
        yield _gauge(
            "panapp_recipes_open",
            "Published recipes.",
            unreleased.filter(status=Recipe.Status.PUBLISHED).count(),
        )
        yield _gauge(
            "panapp_recipes_closed_unreleased",
            "Closed recipes whose result is neither released nor withheld yet.",
            unreleased.filter(status=Recipe.Status.CLOSED).count(),
        )
        yield _gauge(
            "panapp_reports_waiting",
            "Reports stored, not yet decrypted.",
            _sum(StoredReports.objects.all(), "count"),
        )
        yield _gauge(
            "panapp_reports_summed",
            "Reports in sums that wait for their release.",
            _sum(SubAggregate.objects.all(), "reports"),
        )
        yield _gauge("panapp_chunks", "Chunks of reports that a worker should take in.", chunks.count())
        yield _gauge(
            "panapp_chunks_failing",
            f"Chunks sent again more than {MANY_ATTEMPTS} times.",
            chunks.filter(attempts__gt=MANY_ATTEMPTS).count(),
        )
        yield _gauge(
            "panapp_chunk_overdue_seconds",
            "How long a chunk has waited to be sent again: grows when beat stands still.",
            _seconds_since(chunks.aggregate(at=Min("send_after"))["at"], now),
        )
        yield _gauge(
            "panapp_closing_overdue_seconds",
            "How long ago a recipe that is still open should have closed: grows when beat stands still.",
            _seconds_since(overdue_since, now),
        )


def _gauge(name: str, text: str, value: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(name, text, value=value)


def _sum(rows: QuerySet[Model], column: str) -> int:
    return rows.aggregate(total=Sum(column))["total"] or 0


def _seconds_since(moment: datetime | None, now: datetime) -> float:
    """0 where there is no such moment, or where it is still to come."""
    return 0.0 if moment is None else max(0.0, (now - moment).total_seconds())


def _process_registry() -> CollectorRegistry:
    """Counters of requests: of this process, or of all where they share a directory."""
    if "PROMETHEUS_MULTIPROC_DIR" not in os.environ:
        return prometheus_client.REGISTRY
    registry = CollectorRegistry()
    multiprocess.MultiProcessCollector(registry)
    return registry


def _bears(request: HttpRequest, token: str) -> bool:
    scheme, _, presented = request.headers.get("Authorization", "").partition(" ")
    return scheme.lower() == "bearer" and hmac.compare_digest(presented.encode(), token.encode())

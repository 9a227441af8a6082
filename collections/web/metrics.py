"""Numbers for operators, in the text format of Prometheus.

They are sums over all recipes, but exact and live: a reader could notice that one more report came in. Hence
the token.
"""

import hmac
import os

import prometheus_client
from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.utils.module_loading import import_string
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from prometheus_client import CollectorRegistry, generate_latest, multiprocess


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
    ours = CollectorRegistry()
    for collector in settings.ROLE.metrics:
        ours.register(import_string(collector)())
    return HttpResponse(
        generate_latest(_process_registry()) + generate_latest(ours),
        content_type=prometheus_client.CONTENT_TYPE_LATEST,
    )


def _process_registry() -> CollectorRegistry:
    """Counters of requests: of this process, or of all if they share a directory."""
    if "PROMETHEUS_MULTIPROC_DIR" not in os.environ:
        return prometheus_client.REGISTRY
    registry = CollectorRegistry()
    multiprocess.MultiProcessCollector(registry)
    return registry


def _bears(request: HttpRequest, token: str) -> bool:
    scheme, _, presented = request.headers.get("Authorization", "").partition(" ")
    return scheme.lower() == "bearer" and hmac.compare_digest(presented.encode(), token.encode())

"""Counters of requests, without what would measure a stream, or what one device sends to a shuffler.

Streams that differ in how often one item appears differ in the bytes that came and in the time that folding
them in took. How long a stream is, no guarantee covers. Requests are counted all the same: a batch may hold
any number of items, or none.

Read before and after a request, sums of bytes and times are those of this request. How many messages a user
of a shuffler sends may depend on chance, which belongs to the user's randomizer alone.
"""

from functools import cache
from time import perf_counter
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django_prometheus import middleware


def is_unmeasured(request: HttpRequest) -> bool:
    """Whether this is a batch of items of a stream, or the messages of one user of a shuffler."""
    path = request.path
    brings_items = path.startswith("/api/") and path.endswith("/items/")
    return brings_items or (path.startswith("/shuffler/") and path.endswith("/messages"))


class _Unobserved:
    """A measure that keeps nothing."""

    def observe(self, amount: float) -> None:
        """Keep nothing."""


class RequestsBeforeMiddleware(middleware.PrometheusBeforeMiddleware):  # type: ignore[misc]  # has no types
    """django_prometheus's, but what devices and senders of items bring is not timed."""

    def process_response(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        if is_unmeasured(request):
            self.metrics.responses_total.inc()
            return response
        answer: HttpResponse = super().process_response(request, response)
        return answer


class RequestsAfterMiddleware(middleware.PrometheusAfterMiddleware):  # type: ignore[misc]  # has no types
    """django_prometheus's, but what devices and senders of items bring is neither timed nor measured."""

    def label_metric(
        self, metric: Any, request: HttpRequest, response: HttpResponse | None = None, **labels: Any
    ) -> Any:
        measures = (self.metrics.requests_body_bytes, self.metrics.requests_latency_by_view_method)
        if metric in measures and is_unmeasured(request):
            return _Unobserved()
        return super().label_metric(metric, request, response, **labels)


class RequestCounts:
    """The same counters, for what is answered in front of the middlewares: labels are looked up once."""

    def __init__(self) -> None:
        self._metrics = middleware.Metrics.get_instance()
        self._labelled = cache(lambda metric, *labels: metric.labels(*labels))

    def begin(self, request: HttpRequest) -> "CountedRequest":
        """Count a request that came. Its `resolver_match` is set."""
        return CountedRequest(self._metrics, self._labelled, request)

    def failed(self, request: HttpRequest, error: Exception) -> None:
        """Count what a view raised."""
        self._labelled(self._metrics.exceptions_by_type, type(error).__name__).inc()
        self._labelled(self._metrics.exceptions_by_view, _view_of(request)).inc()


def _view_of(request: HttpRequest) -> str:
    match = request.resolver_match
    return match.view_name if match else "<unnamed view>"


class CountedRequest:
    """A request that was counted, and is to be answered."""

    def __init__(self, metrics: Any, labelled: Any, request: HttpRequest) -> None:
        self._metrics, self._labelled = metrics, labelled
        self._started = perf_counter()
        self._is_measured = not is_unmeasured(request)
        self._labels = (_view_of(request), request.method)
        transport = "https" if request.is_secure() else "http"
        metrics.requests_total.inc()
        labelled(metrics.requests_by_method, request.method).inc()
        labelled(metrics.requests_by_transport, transport).inc()
        view, method = self._labels
        labelled(metrics.requests_by_view_transport_method, view, transport, method).inc()
        if self._is_measured:
            metrics.requests_body_bytes.observe(int(request.META.get("CONTENT_LENGTH") or 0))

    def end(self, response: HttpResponseBase) -> None:
        """Count the answer."""
        metrics, status = self._metrics, str(response.status_code)
        metrics.responses_total.inc()
        self._labelled(metrics.responses_by_status, status).inc()
        self._labelled(metrics.responses_by_status_view_method, status, *self._labels).inc()
        self._labelled(metrics.responses_by_charset, str(response.charset)).inc()
        metrics.responses_body_bytes.observe(len(getattr(response, "content", b"")))
        if self._is_measured:
            seconds = perf_counter() - self._started
            metrics.requests_latency_before.observe(seconds)
            self._labelled(metrics.requests_latency_by_view_method, *self._labels).observe(seconds)

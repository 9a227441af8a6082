"""Counters of requests, without what would measure a stream, or what one device sends to a shuffler.

Streams that differ in how often one item appears differ in the bytes that came and in the time that folding
them in took. How long a stream is, no guarantee covers. Requests are counted all the same: a batch may hold
any number of items, or none.

Read before and after a request, sums of bytes and times are those of this request. How many messages a user
of a shuffler sends may depend on chance, which belongs to the user's randomizer and to nobody else.
"""

from typing import Any

from django.http import HttpRequest, HttpResponse
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

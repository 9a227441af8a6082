"""Counters of requests, without what would measure a stream: how long it is, no guarantee covers.

Streams that differ in how often one item appears differ in the bytes that came and in the time that folding
them in took. Requests are counted all the same: a batch may hold any number of items, or none.
"""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django_prometheus import middleware


def brings_items(request: HttpRequest) -> bool:
    """Whether this is a batch of items of a stream."""
    return request.path.startswith("/api/") and request.path.endswith("/items/")


class _Unobserved:
    """A measure that keeps nothing."""

    def observe(self, amount: float) -> None:
        """Keep nothing."""


class RequestsBeforeMiddleware(middleware.PrometheusBeforeMiddleware):
    """django_prometheus's, but batches of items are not timed."""

    def process_response(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        if brings_items(request):
            self.metrics.responses_total.inc()
            return response
        return super().process_response(request, response)


class RequestsAfterMiddleware(middleware.PrometheusAfterMiddleware):
    """django_prometheus's, but batches of items are neither timed nor measured."""

    def label_metric(
        self, metric: Any, request: HttpRequest, response: HttpResponse | None = None, **labels: Any
    ) -> Any:
        measures = (self.metrics.requests_body_bytes, self.metrics.requests_latency_by_view_method)
        if metric in measures and brings_items(request):
            return _Unobserved()
        return super().label_metric(metric, request, response, **labels)

"""One public result to an OpenTelemetry collector: each released value is a point of a gauge.

Source: OpenTelemetry Protocol 1.5.0, "OTLP/HTTP", binary Protobuf. Needs `requirements-otlp.txt`, so it is
imported only when something is sent.
"""

import json
import logging
import time
from collections.abc import Mapping
from functools import partial
from typing import Any

from django.conf import settings
from google.protobuf.message import DecodeError
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceResponse
from opentelemetry.sdk.metrics.export import (
    Gauge,
    Metric,
    MetricExportResult,
    MetricsData,
    NumberDataPoint,
    ResourceMetrics,
    ScopeMetrics,
)
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from requests import PreparedRequest, Response, Session
from requests.adapters import BaseAdapter

from panprivacy.recipe.result_rows import ResultRow, result_rows
from results.models import Release, SignedResult
from results.tables import TableFilter, public_results
from web.transport import Transport, https_transport

METRIC = "panapp.result"

POINTS_AT_ONCE = 1_000
"""In one request: less than 1 MiB, and collectors take several."""

REQUEST_SECONDS = 10.0

RESULT_SECONDS = 60.0
"""For all requests of one result: a slow collector must not hold all workers."""

LARGEST_ANSWER = 1 << 16
"""Bytes. Answers say how many points were refused, and why."""

# Failures are logged with their recipe (`delivery`).
logging.getLogger(OTLPMetricExporter.__module__).setLevel(logging.CRITICAL)

otlp_transport: Transport = partial(https_transport, seconds=REQUEST_SECONDS, largest_answer=LARGEST_ANSWER)


class NotTakenError(Exception):
    """The collector answered, but did not take the result.

    Attributes:
        status: of HTTP.
        final: whether it took all but some values, and so must not be sent the result again.
    """

    def __init__(self, status: int, problem: str, *, final: bool = False) -> None:
        super().__init__(problem)
        self.status = status
        self.final = final


def result_send(release: Release, transport: Transport | None = None) -> int:
    """Send all values of a public result; the status of the last answer.

    If it fails in between, all are to be sent again: the points are the same, with the same time.

    Raises:
        NotTakenError: with the reason.
        OSError: no answer.
        Recipe.DoesNotExist: the result is not public.
    """
    adapter = _Adapter(transport or otlp_transport)
    with Session() as session:
        # Neither proxies nor passwords of this process's environment.
        session.trust_env = False
        for scheme in ("http://", "https://"):
            session.mount(scheme, adapter)
        exporter = OTLPMetricExporter(
            endpoint=f"{settings.OTLP_ENDPOINT}/v1/metrics",
            timeout=RESULT_SECONDS,
            compression=Compression.Gzip,
            session=session,
            max_export_batch_size=POINTS_AT_ONCE,
        )
        outcome = exporter.export(metrics_of(release))
    if adapter.failure is not None:
        raise adapter.failure
    if adapter.refused:
        raise NotTakenError(200, f"{adapter.refused:,} values were refused", final=True)
    if outcome is not MetricExportResult.SUCCESS or adapter.status is None:
        raise ValueError("the exporter sent nothing")
    return adapter.status


def metrics_of(release: Release) -> MetricsData:
    """The values of a public result as points of one gauge, at the time of its release.

    Raises:
        Recipe.DoesNotExist: the result is not public.
    """
    number = public_results(TableFilter()).values_list("round__number", flat=True).get(release=release)
    document = json.loads(SignedResult.objects.get(release=release).document)
    points = [
        NumberDataPoint(
            attributes=_attributes(row, document),
            start_time_unix_nano=0,
            time_unix_nano=int(row.released_at.timestamp()) * 1_000_000_000,
            value=float(row.estimate),
        )
        for row in result_rows(document, number)
    ]
    # Units differ between recipes, and a metric has one: they are attributes.
    gauge = Metric(METRIC, "A value of a released result.", "", Gauge(points))
    scope = ScopeMetrics(InstrumentationScope(METRIC, document["software"]), [gauge], "")
    site = {"service.name": "panapp"} | (
        {"service.instance.id": settings.SITE_URL} if settings.SITE_URL else {}
    )
    return MetricsData([ResourceMetrics(Resource(site), [scope], "")])


def _attributes(row: ResultRow, document: Mapping[str, Any]) -> dict[str, str | bool | int | float]:
    """Those of one point. What is not known has none."""
    # A document has whole numbers without a point, but an attribute has one type.
    numbers = {name: getattr(row, name) for name in ("low", "high", "level", "epsilon", "delta")}
    known = {
        "recipe.id": row.recipe,
        "recipe.name": document["recipe"]["name"],
        "event": document["event"],
        "round": row.round,
        "segment": row.segment,
        "value": row.value,
        "unit": document["unit"],
        "more_than_noise": row.more_than_noise,
        **{name: None if number is None else float(number) for name, number in numbers.items()},
        "simulation": document["simulation"],
    }
    return {name: value for name, value in known.items() if value is not None}


class _Adapter(BaseAdapter):
    """Has the exporter send as webhooks are sent: each request once, by a deadline, no redirect followed.

    The exporter itself repeats requests in the worker's time, takes a redirect for success, and reads headers
    from variables of its own.
    """

    def __init__(self, transport: Transport) -> None:
        super().__init__()
        self._transport = transport
        self._end = time.monotonic() + RESULT_SECONDS
        self.status: int | None = None
        self.failure: NotTakenError | OSError | None = None
        self.refused = 0

    def send(self, request: PreparedRequest, *args: object, **kwargs: object) -> Response:
        response = Response()
        response.request = request
        try:
            response.status_code = self.status = self._post(request)
        except (NotTakenError, OSError) as error:
            # Not one of requests' own errors, which the exporter would repeat.
            self.failure = error
            raise
        return response

    def _post(self, request: PreparedRequest) -> int:
        if time.monotonic() > self._end:
            raise TimeoutError("the time for the result is over")
        headers = {
            **settings.OTLP_HEADERS,
            "Content-Type": "application/x-protobuf",
            "Content-Encoding": "gzip",
            "User-Agent": "panapp-metrics/1",
        }
        body = request.body
        if request.url is None or not isinstance(body, bytes):
            raise TypeError("the exporter has no address or body")
        status, _, answer = self._transport("POST", request.url, headers, body)
        if 300 <= status < 400:
            raise NotTakenError(status, "a redirect, which is not followed")
        if not 200 <= status < 300:
            raise NotTakenError(status, f"refused with status {status}")
        self.refused += _refused(answer)
        return status

    def close(self) -> None:
        """Nothing is kept open."""


def _refused(answer: bytes) -> int:
    """How many points a collector refused of those that it was sent; 0 if it does not say."""
    try:
        told = ExportMetricsServiceResponse.FromString(answer)
    except DecodeError:
        return 0
    return int(told.partial_success.rejected_data_points)

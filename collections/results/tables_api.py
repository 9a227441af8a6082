"""All public results as one file, for warehouses."""

import tempfile
from collections.abc import Callable, Iterable
from threading import BoundedSemaphore
from typing import IO, Any, ClassVar, TypeVar

from django.http import FileResponse, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.cache import get_conditional_response
from django.utils.http import quote_etag
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.views import APIView

from panprivacy.formats.errors import FieldError
from panprivacy.formats.times import parse_time
from panprivacy.recipe.result_rows import COLUMNS, ResultRow
from results.tables import (
    NoParquetError,
    TableFilter,
    public_rows,
    results_csv,
    results_parquet,
    table_version,
)
from web.busy import BusyError
from web.negotiation import OneFormat
from web.openapi import problem_response
from web.problems import Problem, invalid_field, invalid_parameter
from web.scopes import PUBLIC, Scopes

_places = BoundedSemaphore(2)
"""Of files that a process makes at once. A file is complete before it is sent, so slow readers take none."""

IN_MEMORY = 1 << 20
"""Bytes of a file that stay in memory; a larger one is on disk while it is made and sent."""

F = TypeVar("F", bound=Callable[..., HttpResponseBase])

Write = Callable[[Iterable[ResultRow], IO[bytes]], None]

TABLE = (
    "A row for each value of every public result, the oldest first. Columns: "
    f"{', '.join(f'`{name}`' for name in COLUMNS)}. `epsilon` and `delta` are of that guarantee of "
    "the result alone (`result.json`) which a budget is charged with: model `aggregator`, else `sampled`, "
    "`shuffle` or a curator's `pan` with all intrusions; relation `replace`, or `user` of a curator; honest "
    "devices. They are empty if ε is unknown."
)


def described(name: str, media_type: str, shape: OpenApiTypes, answers: dict[int, Any]) -> Callable[[F], F]:
    """The OpenAPI description of the table in one format."""
    return extend_schema(
        summary=f"Fetch all public results as {name}",
        operation_id=f"results_{name}",
        parameters=[
            OpenApiParameter(
                "since",
                OpenApiTypes.DATETIME,
                description="Only results that were released then or later (RFC 3339).",
            ),
            OpenApiParameter(
                "simulations", bool, default=True, description="Whether public simulations are included."
            ),
        ],
        responses={
            (200, media_type): OpenApiResponse(shape, TABLE),
            304: OpenApiResponse(description="The file that `If-None-Match` names has not changed."),
            400: problem_response("A parameter is not understood."),
            503: problem_response("Other tables are being made."),
            **answers,
        },
    )


class _TableView(APIView):
    """The table in one file format, of media type `content_type`."""

    scopes: ClassVar[Scopes] = {"GET": PUBLIC}
    content_negotiation_class = OneFormat

    content_type: ClassVar[str]

    def answer(self, request: Request, write: Write) -> HttpResponseBase:
        chosen = _read(request)
        etag = quote_etag(f"{table_version(chosen)}-{write.__name__}")
        response: HttpResponseBase | None = get_conditional_response(request._request, etag=etag)
        if response is None:
            file = _made(chosen, write)
            if isinstance(file, bytes):
                response = HttpResponse(file, content_type=self.content_type)
            else:
                response = FileResponse(file, content_type=self.content_type)
        response["ETag"] = etag
        # To be kept, but asked for again: the answer to that is cheap.
        response["Cache-Control"] = "no-cache"
        return response


class ResultsCsvView(_TableView):
    """All public results as CSV."""

    content_type = "text/csv; charset=utf-8"

    @described("csv", "text/csv", OpenApiTypes.STR, {})
    def get(self, request: Request) -> HttpResponseBase:
        return self.answer(request, results_csv)


class ResultsParquetView(_TableView):
    """All public results as Parquet."""

    # The registered type is vnd.apache.parquet, which generators of clients do not know as bytes.
    content_type = "application/octet-stream"

    @described(
        "parquet",
        content_type,
        OpenApiTypes.BINARY,
        {501: problem_response("The site has not installed `requirements-parquet.txt`.")},
    )
    def get(self, request: Request) -> HttpResponseBase:
        return self.answer(request, results_parquet)


def _read(request: Request) -> TableFilter:
    """What the query string asks for; a Problem names the parameter that is wrong."""
    unknown = sorted(set(request.query_params) - {"since", "simulations"})
    if unknown:
        raise invalid_parameter(unknown[0], "since and simulations are the only parameters.")
    since, simulations = (request.query_params.get(name) for name in ("since", "simulations"))
    if simulations not in (None, "true", "false"):
        raise invalid_parameter("simulations", "simulations must be true or false.")
    try:
        return TableFilter(
            since=None if since is None else parse_time("since", since), simulations=simulations != "false"
        )
    except FieldError as error:
        raise invalid_field(error) from None


def _made(chosen: TableFilter, write: Write) -> IO[bytes] | bytes:
    """The whole file, at its beginning; a small one as its content."""
    if not _places.acquire(blocking=False):
        raise BusyError("other tables are being made; try again in some seconds")
    file = tempfile.SpooledTemporaryFile(IN_MEMORY)  # noqa: SIM115  # closed with the response
    try:
        write(public_rows(chosen), file)
    except NoParquetError:
        file.close()
        raise Problem(
            "not-installed",
            "This site has no Parquet",
            501,
            "The operator has not installed requirements-parquet.txt. Use results.csv instead.",
        ) from None
    except BaseException:
        file.close()
        raise
    finally:
        _places.release()
    size = file.tell()
    file.seek(0)
    if size > IN_MEMORY:
        return file
    with file:
        return file.read()

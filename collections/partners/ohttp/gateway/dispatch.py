"""Requests that were in capsules, answered by this process: no socket, no cookies, no session."""

from io import BytesIO
from typing import Any, cast
from urllib.parse import unquote_to_bytes

from django.conf import settings
from django.core.handlers.exception import convert_exception_to_response
from django.core.handlers.wsgi import WSGIRequest
from django.http import Http404, HttpRequest, HttpResponseBase
from django.urls import Resolver404, resolve

from panprivacy.protocols.oblivious_http.binary_http import Request, Response
from web.problems import PROGRAM_ASKS, malformed_body

METHODS = ("GET", "POST")

_TAKEN = {b"accept": "HTTP_ACCEPT", b"content-type": "CONTENT_TYPE"}
"""Fields of a request that are passed on. All other fields could identify the client."""

_OWN = ("SERVER_NAME", "SERVER_PORT", "HTTP_HOST")
"""What a request states about this server."""

_GIVEN = ("Content-Type", "Retry-After", "Cache-Control", "Allow", "Location")
"""Fields of an answer that are passed on."""


def answered(inner: Request, outer: HttpRequest) -> Response:
    """What this server answers to a request from a capsule.

    Args:
        outer: what brought the capsule; only this server's own address is taken from it.

    Only the addresses of `OBLIVIOUS_ADDRESSES` are answered; others get a 404, as for unknown addresses.
    """
    return _binary(_answer(_request(inner, outer)))


def refused(detail: str) -> Response:
    """The answer to what is no request: inside the capsule, so that the relay learns nothing of it."""
    return _binary(malformed_body(detail).response())


def _binary(response: HttpResponseBase) -> Response:
    content = _content(response)  # makes the fields, too
    fields = tuple(
        (name.lower().encode("ascii"), response[name].encode("latin-1", "replace"))
        for name in _GIVEN
        if response.has_header(name)
    )
    return Response(response.status_code, fields, content)


def _answer(request: HttpRequest) -> HttpResponseBase:
    return cast(HttpResponseBase, convert_exception_to_response(_view)(request))


def _view(request: HttpRequest) -> HttpResponseBase:
    try:
        match = resolve(request.path_info)
    except Resolver404:
        raise Http404 from None
    if match.view_name not in settings.OBLIVIOUS_ADDRESSES or request.method not in METHODS:
        raise Http404
    request.resolver_match = match
    response: HttpResponseBase = match.func(request, *match.args, **match.kwargs)
    return response


def _request(inner: Request, outer: HttpRequest) -> WSGIRequest:
    path, _, query = inner.path.partition(b"?")
    own: dict[str, Any] = {name: outer.META[name] for name in _OWN if name in outer.META}
    fields = {_TAKEN[name]: value.decode("latin-1") for name, value in inner.headers if name in _TAKEN}
    return WSGIRequest(
        {
            **own,
            **fields,
            PROGRAM_ASKS: True,
            "wsgi.url_scheme": outer.scheme,
            "wsgi.input": BytesIO(inner.content),
            "REQUEST_METHOD": inner.method.decode("ascii"),
            "SCRIPT_NAME": "",
            # As WSGI has it: bytes, one character for each.
            "PATH_INFO": unquote_to_bytes(path).decode("latin-1"),
            "QUERY_STRING": query.decode("latin-1"),
            "CONTENT_LENGTH": str(len(inner.content)),
        }
    )


def _content(response: HttpResponseBase) -> bytes:
    render = getattr(response, "render", None)
    if render is not None:
        render()
    return b"".join(response) if response.streaming else response.content  # type: ignore[attr-defined]  # both kinds

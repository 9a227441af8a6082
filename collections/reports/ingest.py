"""In front of Django: reports, items and uploads are answered without sessions, accounts, forms and cookies.

Devices report one at a time, so this is the hot path. The views are those of the site, and so are errors and
counters; only what no device needs is left out. Every unusual request (another method, a query, a wrong host)
is passed to Django unread.
"""

import threading
from collections.abc import Callable, Iterable
from functools import cache, lru_cache
from io import BytesIO
from typing import Any, cast

from django.conf import settings
from django.core.exceptions import DisallowedHost
from django.core.handlers.exception import convert_exception_to_response
from django.core.handlers.wsgi import WSGIRequest
from django.core.signals import request_finished
from django.db.backends.signals import connection_created
from django.dispatch import receiver
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.middleware.security import SecurityMiddleware
from django.urls import Resolver404, get_resolver

from storage import group_commit
from web.bodies import body_forget
from web.request_metrics import RequestCounts

Environ = dict[str, Any]
StartResponse = Callable[..., Any]
Application = Callable[[Environ, StartResponse], Iterable[bytes]]


MOST_ADDRESSES = 1_024
"""Addresses that are kept with their views."""


class _Here(threading.local):
    """Whether this thread has connected to the database since it last let go of its connections."""

    connected = False


_HERE = _Here()


@receiver(connection_created)
def _note_connection(**_: object) -> None:
    _HERE.connected = True


class Ingest:
    """A WSGI application that answers what is POSTed to some addresses, and leaves the rest to another.

    Args:
        application: answers everything else.
        urlconf: module of the addresses; each is an address of the site, too, with the same view.
    """

    def __init__(self, application: Application, urlconf: str) -> None:
        group_commit.serve()
        self._application = application
        self._matches = lru_cache(maxsize=MOST_ADDRESSES)(get_resolver(urlconf).resolve)
        self._hosts: set[str | None] = set()
        self._counts = RequestCounts()
        self._answer = cast(
            "Callable[[HttpRequest], HttpResponseBase]", convert_exception_to_response(self._view)
        )

    def __call__(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        request = self._request(environ)
        if request is None:
            return self._application(environ, start_response)
        counted = self._counts.begin(request)
        try:
            response = self._answer(request)
        finally:
            body_forget(request)
            if _HERE.connected:
                _HERE.connected = False
                # As after every request: a thread that read a recipe lets go of its connection.
                request_finished.send(sender=Ingest)
        counted.end(response)
        status = f"{response.status_code} {response.reason_phrase}"
        start_response(status, [*response.items(), *_headers(request.is_secure())])
        return [response.content]  # type: ignore[attr-defined]  # no view here streams

    def _request(self, environ: Environ) -> WSGIRequest | None:
        """What was asked, with the view that answers it; None if Django is to answer."""
        if environ["REQUEST_METHOD"] != "POST" or environ.get("QUERY_STRING"):
            return None
        try:
            match = self._matches(environ["PATH_INFO"])
        except Resolver404:
            return None
        request = WSGIRequest(environ)
        if not self._is_ours(request):
            return None
        if settings.SECURE_SSL_REDIRECT and not request.is_secure():
            return None
        request.resolver_match = match
        return request

    def _view(self, request: HttpRequest) -> HttpResponseBase:
        match = request.resolver_match
        if match is None:
            raise TypeError("a request is resolved before it is answered")
        try:
            response: HttpResponseBase = match.func(request, *match.args, **match.kwargs)
        except Exception as error:
            self._counts.failed(request, error)
            raise
        return response

    def _is_ours(self, request: WSGIRequest) -> bool:
        """Whether the host is one of this site's."""
        host = request.META.get("HTTP_HOST")
        if host in self._hosts:
            return True
        try:
            request.get_host()
        except DisallowedHost:
            return False
        if not settings.USE_X_FORWARDED_HOST and len(self._hosts) < MOST_ADDRESSES:
            self._hosts.add(host)
        return True


@cache
def _headers(is_secure: bool) -> tuple[tuple[str, str], ...]:
    """What the site's middlewares add to every answer, cookies apart."""
    response = HttpResponse(headers={"X-Frame-Options": settings.X_FRAME_OPTIONS})
    del response["Content-Type"]
    request = WSGIRequest(
        {
            "REQUEST_METHOD": "POST",
            "wsgi.url_scheme": "https" if is_secure else "http",
            "wsgi.input": BytesIO(),
        }
    )
    SecurityMiddleware(lambda _: response).process_response(request, response)
    return tuple(response.items())

"""The API's description, and its documentation page."""

import threading
from typing import Any, ClassVar

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.views import View
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.api_tokens import openapi  # noqa: F401  # registers the description of tokens and sessions
from web.scopes import PUBLIC, Scopes

_LOCK = threading.Lock()
_described: dict[str, Any] = {}


def description() -> dict[str, Any]:
    """The OpenAPI document of all public addresses: the same for all who ask, so it is made once.

    Under a lock, because the generator keeps its state on the views: most parallel requests would fail.
    """
    with _LOCK:
        if not _described:
            _described.update(SchemaGenerator().get_schema(request=None, public=True))
    return _described


class SchemaView(SpectacularAPIView):
    """The description as YAML or JSON."""

    scopes: ClassVar[Scopes] = {"GET": PUBLIC}

    def _get_schema_response(self, request: Request) -> Response:
        headers = {"Content-Disposition": f'inline; filename="openapi.{request.accepted_renderer.format}"'}
        return Response(description(), headers=headers)


_START = SpectacularSwaggerSplitView.as_view()


class ApiDocsView(View):
    """Swagger UI from our own files in the site's frame; its start-up script is a request of its own, because
    our CSP requires it."""

    def get(self, request: HttpRequest) -> HttpResponseBase:
        if "script" in request.GET:
            return _START(request)
        return render(request, "api_docs.html")

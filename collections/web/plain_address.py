"""Refuse what no page and no client sends, once for all views."""

from collections.abc import Callable

from django.core.exceptions import BadRequest
from django.http import Http404, HttpRequest, HttpResponse


class PlainAddressMiddleware:
    """404 for control characters in a path, 400 for those in a query string.

    PostgreSQL takes no NUL, and a header no line break; some views of libraries pass on what they get.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if not request.path_info.isprintable():
            raise Http404("control characters in the address")
        for values in request.GET.lists():
            if not all(text.isprintable() for text in (values[0], *values[1])):
                raise BadRequest("control characters in the query")
        return self.get_response(request)

"""The status page of a server for people, and the same as JSON; rows newest first, older ones by the link."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar

from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.urls import URLPattern, path, reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from web.paging import Page, page_of

PAGE_SIZE = 50

M = TypeVar("M", bound=Model)


@dataclass(frozen=True)
class StatusPages(Generic[M]):
    """What there is to see at the root of a server.

    Attributes:
        role: of the server: its template, and the beginning of its addresses' names.
        rows: what is paged, newest first, by primary key.
        status: everything that a page with these rows shows, as plain JSON values.
    """

    role: str
    rows: Callable[[], QuerySet[M]]
    status: Callable[[Sequence[M]], dict[str, Any]]

    def urls(self) -> list[URLPattern]:
        """`/` and `/status.json`."""
        name = f"{self.role}-status"
        return [
            path("", never_cache(require_safe(partial(_html, self))), name=name),
            path("status.json", never_cache(require_safe(partial(_json, self))), name=f"{name}-json"),
        ]

    def page_of(self, request: HttpRequest) -> Page[M]:
        """The page that the request asks for."""
        return page_of(self.rows(), request, PAGE_SIZE)


def _html(pages: StatusPages[Any], request: HttpRequest) -> HttpResponse:
    page = pages.page_of(request)
    context = {
        "status": pages.status(page.rows),
        "page": page,
        "role": pages.role,
        "home": reverse(f"{pages.role}-status"),
        "json": reverse(f"{pages.role}-status-json"),
    }
    return render(request, f"status/{pages.role}.html", context)


def _json(pages: StatusPages[Any], request: HttpRequest) -> JsonResponse:
    """`older` is the query of the next page, empty on the last."""
    page = pages.page_of(request)
    return JsonResponse({**pages.status(page.rows), "older": page.older})

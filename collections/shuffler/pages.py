"""The shuffler's page for people, and the same as JSON; batches newest first, older ones by the link."""

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from audit.paging import Page, cursor_of, page_of
from shuffler.models import Batch
from shuffler.status import status

PAGE_SIZE = 50


@never_cache
@require_safe
def status_page(request: HttpRequest) -> HttpResponse:
    """`/`: batches, key and log."""
    page = _page(request)
    return render(request, "shuffler/status.html", {"status": status(page.rows), "page": page})


@never_cache
@require_safe
def status_json(request: HttpRequest) -> JsonResponse:
    """`/status.json`: the same. `older` is the query of the next page, empty on the last."""
    page = _page(request)
    return JsonResponse({**status(page.rows), "older": page.older})


def _page(request: HttpRequest) -> Page[Batch]:
    batches = Batch.objects.order_by("-pk")
    before = cursor_of(request.GET)
    return page_of(batches if before is None else batches.filter(pk__lt=before), request, PAGE_SIZE)

"""The helper's page for people, and the same as JSON; tasks newest first, older ones by the link."""

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from audit.paging import Page, cursor_of, page_of
from dap.models import Side, Task
from helper.status import status

PAGE_SIZE = 50


@never_cache
@require_safe
def status_page(request: HttpRequest) -> HttpResponse:
    """`/`: tasks, keys and log."""
    page = _page(request)
    return render(request, "helper/status.html", {"status": status(page.rows), "page": page})


@never_cache
@require_safe
def status_json(request: HttpRequest) -> JsonResponse:
    """`/status.json`: the same. `older` is the query of the next page, empty on the last."""
    page = _page(request)
    return JsonResponse({**status(page.rows), "older": page.older})


def _page(request: HttpRequest) -> Page[Task]:
    tasks = Task.objects.filter(side=Side.HELPER).order_by("-pk")
    before = cursor_of(request.GET)
    return page_of(tasks if before is None else tasks.filter(pk__lt=before), request, PAGE_SIZE)

"""The helper's page for people, and the same as JSON."""

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from helper.status import status


@never_cache
@require_safe
def status_page(request: HttpRequest) -> HttpResponse:
    """`/`: tasks, keys and log."""
    return render(request, "helper/status.html", {"status": status()})


@never_cache
@require_safe
def status_json(request: HttpRequest) -> JsonResponse:
    """`/status.json`: the same."""
    return JsonResponse(status())

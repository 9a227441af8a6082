"""The public status of an attester: how it identifies devices, and how many there are in coarse steps."""

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from tokens.attester.status import status


@never_cache
@require_safe
def status_html(request: HttpRequest) -> HttpResponse:
    """For people."""
    context = {
        "status": status(),
        "role": "attester",
        "home": reverse("attester-status"),
        "json": reverse("attester-status-json"),
    }
    return render(request, "status/attester.html", context)


@never_cache
@require_safe
def status_json(request: HttpRequest) -> JsonResponse:
    """The same for programs."""
    return JsonResponse(status())

"""The public status of a relay: the gateways for which it works. It stores nothing else that it
could show."""

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe


@require_safe
def status_html(request: HttpRequest) -> HttpResponse:
    """For people."""
    return render(request, "status/relay.html", {"gateways": _gateways(request)})


@require_safe
def status_json(request: HttpRequest) -> JsonResponse:
    """The same for programs."""
    return JsonResponse({"gateways": _gateways(request)})


def _gateways(request: HttpRequest) -> list[dict[str, str]]:
    return [
        {"name": name, "relay": request.build_absolute_uri(f"/relay/{name}"), "gateway": address}
        for name, address in sorted(settings.RELAY_GATEWAYS.items())
    ]

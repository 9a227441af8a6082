"""The relay's addresses: one for each gateway that it knows (RFC 9458).

Those of the other servers of a site's recipes are below the site's: `hospital`, `hospital/helper`.
"""

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt

from panprivacy.protocols.oblivious_http import signed_keys
from panprivacy.protocols.oblivious_http.capsules import LARGEST_CAPSULE, REQUEST_MEDIA_TYPE
from partners.ohttp.relay.gateway_request import forward
from web.bodies import read_body
from web.failures import FAILURES, failure_response
from web.problems import method_not_allowed, not_found, unsupported_media_type

_METHODS = ("GET", "POST")


# Nothing of a request is logged, not even when it fails.
@csrf_exempt  # no session is read: there is nothing to forge
def relay(request: HttpRequest, name: str, role: str = "") -> HttpResponse:
    """POST a capsule, or GET the gateway's keys."""
    try:
        return _relayed(request, f"{name}/{role}" if role else name)
    except FAILURES as failure:
        return failure_response(failure, methods=_METHODS, undone="Send it again.", private=True)


def _relayed(request: HttpRequest, name: str) -> HttpResponse:
    gateway = settings.RELAY_GATEWAYS.get(name)
    if gateway is None:
        raise not_found("This relay knows no gateway of this name.")
    if request.method not in _METHODS:
        raise method_not_allowed(", ".join(_METHODS))
    body = b""
    if request.method == "POST":
        if request.content_type != REQUEST_MEDIA_TYPE:
            raise unsupported_media_type(f"Content-Type must be {REQUEST_MEDIA_TYPE}.")
        body = read_body(request, LARGEST_CAPSULE)
    answer = forward(gateway, request.method, body)
    response = HttpResponse(answer.body, status=answer.status, content_type=answer.content_type)
    response["Cache-Control"] = answer.cache_control
    if answer.key_signature:
        response[signed_keys.HEADER] = answer.key_signature
    return response

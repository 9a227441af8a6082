"""The gateway's one address: its keys, and capsules (RFC 9458 and 9540)."""

from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt

from panprivacy.protocols.oblivious_http import capsules, signed_keys
from panprivacy.protocols.oblivious_http.binary_http import InvalidBinaryHttpError, Request
from panprivacy.protocols.oblivious_http.keys import MEDIA_TYPE
from partners.ohttp.gateway.capsules import answer_seal, capsule_open
from partners.ohttp.gateway.dispatch import answered, refused
from partners.ohttp.gateway.keys import key_list
from storage.rotating_keys import cache_seconds
from storage.signing_key import signing_key
from web.bodies import read_body
from web.failures import FAILURES, failure_response
from web.problems import method_not_allowed, unsupported_media_type

_METHODS = ("GET", "POST")


@csrf_exempt  # no session is read: there is nothing to forge
def gateway(request: HttpRequest) -> HttpResponse:
    """GET the keys, which are signed, or POST a capsule."""
    try:
        if request.method == "GET":
            return _keys()
        if request.method == "POST":
            return _capsule(request)
        raise method_not_allowed(", ".join(_METHODS))
    except FAILURES as failure:
        return failure_response(failure, methods=_METHODS, undone="Send it again.", private=True)


def _keys() -> HttpResponse:
    encoded = key_list(now=timezone.now())
    response = HttpResponse(encoded, content_type=MEDIA_TYPE)
    response[signed_keys.HEADER] = signed_keys.signature(encoded, signing_key())
    response["Cache-Control"] = f"max-age={cache_seconds()}"
    return response


def _capsule(request: HttpRequest) -> HttpResponse:
    if request.content_type != capsules.REQUEST_MEDIA_TYPE:
        raise unsupported_media_type(f"Content-Type must be {capsules.REQUEST_MEDIA_TYPE}.")
    opened, context = capsule_open(read_body(request, capsules.LARGEST_CAPSULE))
    try:
        response = answered(Request.decode(opened), request)
    except InvalidBinaryHttpError as error:
        response = refused(f"The capsule holds no request: {error}.")
    answer = HttpResponse(answer_seal(context, response), content_type=capsules.RESPONSE_MEDIA_TYPE)
    answer["Cache-Control"] = "no-store"
    return answer

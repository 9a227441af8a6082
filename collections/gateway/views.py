"""The gateway's one address: its keys, and capsules (RFC 9458 and 9540)."""

import secrets

from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt

from gateway.dispatching import answered, refused
from gateway.keys import PrivateKeys, key_list
from panprivacy.oblivious_http import capsules, padding
from panprivacy.oblivious_http.binary_http import InvalidBinaryHttpError, Request
from panprivacy.oblivious_http.capsules import KEY_PROBLEM, CapsuleError, UnknownKeyError
from panprivacy.oblivious_http.keys import MEDIA_TYPE
from storage.rotating_keys import cache_seconds
from web.bodies import read_body
from web.failures import FAILURES, failure_response
from web.problems import Problem, method_not_allowed, unsupported_media_type

LARGEST_CAPSULE = padding.CLASSES[-1] + capsules.REQUEST_OVERHEAD
"""Bytes. Longer ones are refused before they are read."""

_METHODS = ("GET", "POST")


@csrf_exempt  # no session is read: there is nothing to forge
def gateway(request: HttpRequest) -> HttpResponse:
    """GET the keys, POST a capsule."""
    try:
        if request.method == "GET":
            return _keys()
        if request.method == "POST":
            return _capsule(request)
        raise method_not_allowed(", ".join(_METHODS))
    except FAILURES as failure:
        return failure_response(failure, methods=_METHODS, undone="Send it again.", private=True)


def _keys() -> HttpResponse:
    response = HttpResponse(key_list(now=timezone.now()), content_type=MEDIA_TYPE)
    response["Cache-Control"] = f"max-age={cache_seconds()}"
    return response


def _capsule(request: HttpRequest) -> HttpResponse:
    if request.content_type != capsules.REQUEST_MEDIA_TYPE:
        raise unsupported_media_type(f"Content-Type must be {capsules.REQUEST_MEDIA_TYPE}.")
    body = read_body(request, LARGEST_CAPSULE)
    try:
        opened, context = capsules.open_(PrivateKeys(), body)
    except UnknownKeyError:
        raise Problem(KEY_PROBLEM, "The key is unknown", 400, "Fetch this gateway's keys anew.") from None
    except CapsuleError:
        raise Problem("capsule-refused", "The capsule does not open", 400, "Seal the request anew.") from None
    try:
        response = answered(Request.decode(opened), request)
    except InvalidBinaryHttpError as error:
        response = refused(f"The capsule holds no request: {error}.")
    sealed = context.seal(padding.padded_answer(response.encode()), secrets.SystemRandom())
    answer = HttpResponse(sealed, content_type=capsules.RESPONSE_MEDIA_TYPE)
    answer["Cache-Control"] = "no-store"
    return answer

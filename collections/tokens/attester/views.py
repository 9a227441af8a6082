"""The attester's resources: all are for devices."""

from collections.abc import Callable
from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt

from panprivacy.protocols.attestation import CAPSULE_BYTES
from panprivacy.protocols.oblivious_http import signed_keys
from panprivacy.protocols.oblivious_http.capsules import KEY_PROBLEM, REQUEST_MEDIA_TYPE, RESPONSE_MEDIA_TYPE
from panprivacy.protocols.oblivious_http.keys import MEDIA_TYPE as KEYS_MEDIA_TYPE
from tokens.attester.issuer import issuer
from tokens.attester.issuer_keys import ISSUER_KEYS, keys_fetch
from tokens.attester.kinds import attestation
from tokens.attester.limits import ENROLMENT_BYTES, TURNS, request_claim
from tokens.attester.token_requests import token_answer
from web.bodies import read_body, require_json
from web.failures import FAILURES, failure_response, receiving
from web.problems import Problem, malformed_body, method_not_allowed, unsupported_media_type
from web.strict_json import JSONRefusedError, json_of, json_problem

_UNDONE = "Nothing was stored. Send the same again."


# Nothing of a request is logged, not even when it fails.
@receiving(undone=_UNDONE, private=True)
def token(request: HttpRequest) -> HttpResponse:
    """POST a sealed token request."""
    if request.content_type != REQUEST_MEDIA_TYPE:
        raise unsupported_media_type(f"Content-Type must be {REQUEST_MEDIA_TYPE}.")
    lengths = CAPSULE_BYTES.values()
    capsule = read_body(request, max(lengths))
    if len(capsule) not in lengths:
        detail = f"A sealed token request has {' or '.join(f'{length:,}' for length in lengths)} bytes."
        raise Problem("capsule-refused", "The capsule has another length", 400, detail)
    pseudonym = attestation().identify(request, capsule)
    request_claim(pseudonym)
    try:
        with TURNS.turn():
            answer = token_answer(
                pseudonym=pseudonym, capsule=capsule, issuer=issuer(), today=timezone.now().date()
            )
    except Problem as problem:
        if problem.kind == KEY_PROBLEM:
            ISSUER_KEYS.forget()
        raise
    response = HttpResponse(answer, content_type=RESPONSE_MEDIA_TYPE)
    response["Cache-Control"] = "no-store"
    return response


@receiving(undone=_UNDONE, private=True)
def enrolments(request: HttpRequest) -> HttpResponse:
    """POST a one-time code and what the device will be known by."""
    require_json(request)
    members = _object(read_body(request, ENROLMENT_BYTES))
    code = members.pop("code", None)
    if not isinstance(code, str):
        raise malformed_body("code: must be text.")
    attestation().enrol(code, members)
    return JsonResponse({"status": "enrolled"})


@csrf_exempt  # no session is read: there is nothing to forge
def nonce(request: HttpRequest) -> HttpResponse:
    """GET a fresh nonce, if the attestation method needs one."""
    return _got(request, _nonce)


@csrf_exempt  # no session is read: there is nothing to forge
def issuer_keys(request: HttpRequest) -> HttpResponse:
    """GET the issuer's keys."""
    return _got(request, _issuer_keys)


def _got(request: HttpRequest, answer: Callable[[], HttpResponse]) -> HttpResponse:
    try:
        if request.method != "GET":
            raise method_not_allowed("GET")
        return answer()
    except FAILURES as failure:
        return failure_response(failure, methods=("GET",), undone="Ask again.", private=True)


def _nonce() -> HttpResponse:
    response = JsonResponse({"nonce": attestation().nonce()})
    response["Cache-Control"] = "no-store"
    return response


def _issuer_keys() -> HttpResponse:
    kept, seconds = ISSUER_KEYS.current(keys_fetch)
    response = HttpResponse(kept.encoded, content_type=KEYS_MEDIA_TYPE)
    response[signed_keys.HEADER] = kept.signature
    response["Cache-Control"] = f"max-age={seconds}"
    return response


def _object(body: bytes) -> dict[str, Any]:
    wanted = "The body must be a JSON object."
    try:
        content = json_of(body)
    except JSONRefusedError as error:
        raise json_problem(error, wanted) from None
    if not isinstance(content, dict):
        raise malformed_body(wanted)
    return content

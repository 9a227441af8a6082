"""The shuffler's resources: one for devices, the others for the analyzer, signed."""

import base64
from collections.abc import Callable
from functools import wraps

import structlog
from django.conf import settings
from django.db import OperationalError
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt

from dap.http import DapProblem, View, json_response, read_body, read_json, signed
from shuffler.ending import batch_end, upkeep
from shuffler.limits import EMPTY_BYTES, REGISTRATION_BYTES, largest_body
from shuffler.mixing import batch_shuffle, part_of
from shuffler.models import Batch
from shuffler.receiving import submission_accept
from shuffler.registering import batch_register, recipe_of

logger = structlog.get_logger(__name__)

MESSAGEPACK_TYPE = "application/msgpack"
PART_TYPE = "application/octet-stream"


def _for_analyzer(*methods: str, most: int) -> Callable[[View], View]:
    return signed(
        methods=methods,
        peer_key=lambda: settings.ANALYZER_KEY,
        base_url=lambda: settings.SHUFFLER_URL,
        most=lambda: most,
    )


def _batch(identifier: str) -> Batch:
    batch = Batch.objects.filter(identifier=identifier).first()
    if batch is None:
        detail = "This shuffler does not take part in the recipe."
        raise DapProblem.plain("unrecognized-recipe", "There is no such recipe", 404, detail)
    return batch


def _for_devices(view: View) -> View:
    """Answers problems as documents. Nothing of a request is logged, not even when it fails."""

    @csrf_exempt  # no session is read: there is nothing to forge
    @wraps(view)
    def answer(request: HttpRequest, identifier: str) -> HttpResponse:
        try:
            if request.method != "POST":
                raise DapProblem.plain(
                    "method-not-allowed", "The method is not allowed", 405, "Allowed: POST."
                )
            return view(request, identifier)
        except DapProblem as problem:
            response = problem.response()
            if problem.status == 405:
                response["Allow"] = "POST"
            return response
        except OperationalError as error:
            # Nothing was stored: the transaction is whole or not at all. Sending again is safe.
            logger.error("database_unavailable", error=type(error).__name__)
            detail = "The messages were not stored. Send them again."
            return DapProblem.plain("unavailable", "The server is busy", 503, detail).response()

    return answer


@_for_devices
def messages(request: HttpRequest, identifier: str) -> HttpResponse:
    """POST one user's messages."""
    batch = _batch(identifier)
    if request.content_type != MESSAGEPACK_TYPE:
        detail = f"Content-Type must be {MESSAGEPACK_TYPE}."
        raise DapProblem.plain("unsupported-media-type", "The media type is not supported", 415, detail)
    body = read_body(request, largest_body(recipe_of(batch.document)))
    submission_accept(batch=batch, body=body, now=timezone.now())
    response = json_response({"status": "accepted"})
    response.status_code = 201
    return response


@_for_analyzer("PUT", most=REGISTRATION_BYTES)
def recipe(request: HttpRequest, body: bytes, *, identifier: str) -> HttpResponse:
    """Taking part in a recipe."""
    document = read_json(request, body, {"document"})["document"]
    now = timezone.now()
    upkeep(now=now)
    signature = batch_register(identifier=identifier, document=document, now=now)
    return json_response({"signature": base64.b64encode(signature).decode()})


@_for_analyzer("GET", "DELETE", most=EMPTY_BYTES)
def batch(request: HttpRequest, body: bytes, *, identifier: str) -> HttpResponse:
    """The shuffled batch, once it is full; and its end, at any time."""
    found = _batch(identifier)
    if request.method == "DELETE":
        reason = read_json(request, body, {"reason"})["reason"]
        batch_end(batch=found, reason=reason, now=timezone.now())
        return json_response({})
    shuffled, parts = batch_shuffle(batch=found)
    return json_response({"users": shuffled.users, "messages": shuffled.messages, "parts": parts})


@_for_analyzer("GET", most=EMPTY_BYTES)
def part(request: HttpRequest, body: bytes, *, identifier: str, number: str) -> HttpResponse:
    """One part of the shuffled batch."""
    return HttpResponse(part_of(batch=_batch(identifier), number=int(number)), content_type=PART_TYPE)

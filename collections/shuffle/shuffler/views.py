"""The shuffler's resources: one for devices, the others for the analyzer, signed."""

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from panprivacy.formats import base64_text
from panprivacy.protocols.signed_count import ReleasedCount
from panprivacy.recipe.document import recipe_of
from partners.json_bodies import json_response, read_json
from partners.required_settings import required
from partners.signed_views import signed
from shuffle.shuffler.batch_ends import batch_end, upkeep
from shuffle.shuffler.limits import EMPTY_BYTES, REGISTRATION_BYTES, largest_body
from shuffle.shuffler.models import Batch
from shuffle.shuffler.registrations import batch_register
from shuffle.shuffler.shuffled_batch import batch_shuffle, part_of
from shuffle.shuffler.submissions import submission_accept
from storage import clock
from storage.signing_key import signing_key
from web.bodies import read_body, require_json
from web.failures import View, receiving
from web.problems import Problem

PART_TYPE = "application/octet-stream"


def _for_analyzer(*methods: str, most: int) -> Callable[[View], View]:
    return signed(
        methods=methods,
        peer_key=lambda: required(settings.ANALYZER_KEY, "PANAPP_ANALYZER_KEY"),
        base_url=lambda: required(settings.SHUFFLER_URL, "PANAPP_SHUFFLER_URL"),
        most=lambda: most,
    )


def _batch(identifier: str) -> Batch:
    batch = Batch.objects.filter(identifier=identifier).first()
    if batch is None:
        detail = "This shuffler does not take part in the recipe."
        raise Problem("unrecognized-recipe", "There is no such recipe", 404, detail)
    return batch


# Nothing of a request is logged, not even when it fails.
@receiving(undone="The messages were not stored. Send them again.", private=True)
def messages(request: HttpRequest, identifier: str) -> HttpResponse:
    """POST one user's messages."""
    batch = _batch(identifier)
    require_json(request)
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
    upkeep(now=clock.settled_now())
    signature = batch_register(identifier=identifier, document=document, now=now)
    return json_response({"signature": base64_text.encode(signature)})


@_for_analyzer("GET", "DELETE", most=EMPTY_BYTES)
def batch(request: HttpRequest, body: bytes, *, identifier: str) -> HttpResponse:
    """The shuffled batch, once it is full; and its end, at any time."""
    found = _batch(identifier)
    if request.method == "DELETE":
        reason = read_json(request, body, {"reason"})["reason"]
        batch_end(batch=found, reason=reason, now=timezone.now())
        return json_response({})
    shuffled, parts = batch_shuffle(batch=found)
    signature = ReleasedCount(identifier, shuffled.users).sign(signing_key())
    return json_response(
        {
            "users": shuffled.users,
            "messages": shuffled.messages,
            "parts": parts,
            "signature": base64_text.encode(signature),
            "rejected": dict(shuffled.rejections.order_by("reason").values_list("reason", "count")),
        }
    )


@_for_analyzer("GET", most=EMPTY_BYTES)
def part(request: HttpRequest, body: bytes, *, identifier: str, number: str) -> HttpResponse:
    """One part of the shuffled batch."""
    return HttpResponse(part_of(batch=_batch(identifier), number=int(number)), content_type=PART_TYPE)

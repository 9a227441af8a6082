"""The helper's resources for leaders, signed: halves of keys, and the recipes that have them."""

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from joint_key.helper.keys import key_commit, key_reveal, recipe_join, strings_reveal
from joint_key.helper.models import JointRecipe
from joint_key.helper.sums import list_sign, part_check, recipe_end, sum_decrypt, upkeep
from panprivacy.formats import base64_text
from panprivacy.formats.errors import FieldError
from panprivacy.recipe.accepted_list import PART_REPORTS, RECORD_BYTES
from partners.json_bodies import json_response, read_json
from partners.problems import refused
from partners.request_ids import request_of
from partners.required_settings import required
from partners.signed_views import signed
from storage import clock
from web.failures import View
from web.problems import Problem

KEY_BYTES = 4 * 1024
RECIPE_BYTES = 1024 * 1024
PART_BYTES = PART_REPORTS * RECORD_BYTES
PROOF_BYTES = 1024 * 1024
HASH_BYTES = 32


def _for_leader(*methods: str, most: int) -> Callable[[View], View]:
    return signed(
        methods=methods,
        peer_key=lambda: required(settings.LEADER_KEY, "PANAPP_LEADER_KEY"),
        base_url=lambda: required(settings.HELPER_URL, "PANAPP_HELPER_URL"),
        most=lambda: min(most, settings.DATA_UPLOAD_MAX_MEMORY_SIZE),
    )


@_for_leader("PUT", most=KEY_BYTES)
def commitment(request: HttpRequest, body: bytes, *, key_request: str) -> HttpResponse:
    """The first step of making a key; see `joint_key.helper.keys`."""
    content = read_json(request, body, {"context", "commitment"})
    upkeep(now=clock.settled_now())
    ours = key_commit(
        request=request_of(key_request),
        context=_hash("context", content["context"]),
        leader_commitment=_hash("commitment", content["commitment"]),
        now=timezone.now(),
    )
    return json_response({"commitment": base64_text.encode(ours)})


@_for_leader("PUT", most=KEY_BYTES)
def half(request: HttpRequest, body: bytes, *, key_request: str) -> HttpResponse:
    """The second step."""
    leader_key = _bytes("key", read_json(request, body, {"key"})["key"])
    key, ours = key_reveal(request=request_of(key_request), leader_key=leader_key)
    return json_response({"key": base64_text.encode(key), "commitment": base64_text.encode(ours)})


@_for_leader("PUT", most=KEY_BYTES)
def strings(request: HttpRequest, body: bytes, *, key_request: str) -> HttpResponse:
    """The third step."""
    theirs = _hash("commitment", read_json(request, body, {"commitment"})["commitment"])
    string = strings_reveal(request=request_of(key_request), leader_commitment=theirs)
    return json_response({"string": base64_text.encode(string)})


@_for_leader("PUT", "DELETE", most=RECIPE_BYTES)
def recipe(request: HttpRequest, body: bytes, *, identifier: str) -> HttpResponse:
    """Taking part in a recipe, and its end."""
    if request.method == "DELETE":
        reason = read_json(request, body, {"reason"})["reason"]
        recipe_end(row=_joined(identifier), reason=reason, now=timezone.now())
        return json_response({})
    content = read_json(request, body, {"document", "request"})
    try:
        signature = recipe_join(
            identifier=identifier,
            document=content["document"],
            request=request_of(content["request"]),
            now=timezone.now(),
        )
    except FieldError as error:
        raise refused(f"{error}.") from None
    return json_response({"signature": base64_text.encode(signature)})


@_for_leader("PUT", most=PART_BYTES)
def part(request: HttpRequest, body: bytes, *, identifier: str, number: str) -> HttpResponse:
    """Check one part of the list of accepted reports."""
    part_check(row=_joined(identifier), number=int(number), content=body)
    return json_response({})


@_for_leader("PUT", most=KEY_BYTES)
def accepted_list(request: HttpRequest, body: bytes, *, identifier: str) -> HttpResponse:
    """Our signature of the list."""
    content = read_json(request, body, {"list", "reports"})
    reports = content["reports"]
    if not (reports.isascii() and reports.isdigit() and len(reports) <= 18):
        raise refused("reports: must be a number in decimal digits.")
    signature = list_sign(row=_joined(identifier), digest=content["list"], reports=int(reports))
    return json_response({"signature": base64_text.encode(signature)})


@_for_leader("PUT", most=PROOF_BYTES)
def decryption(request: HttpRequest, body: bytes, *, identifier: str) -> HttpResponse:
    """Our part of the decryption of the sum."""
    proof = _bytes("proof", read_json(request, body, {"proof"})["proof"])
    given = sum_decrypt(row=_joined(identifier), proof=proof)
    return json_response({"part": base64_text.encode(given)})


def _joined(identifier: str) -> JointRecipe:
    row = JointRecipe.objects.filter(identifier=identifier).first()
    if row is None:
        detail = "This helper does not take part in the recipe."
        raise Problem("unrecognized-recipe", "There is no such recipe", 404, detail)
    return row


def _hash(name: str, value: str) -> bytes:
    try:
        decoded = bytes.fromhex(value)
    except ValueError:
        decoded = b""
    if len(decoded) != HASH_BYTES or decoded.hex() != value:
        raise refused(f"{name}: must be {2 * HASH_BYTES} lower-case hexadecimal digits.")
    return decoded


def _bytes(name: str, value: str) -> bytes:
    try:
        return base64_text.decode(value)
    except base64_text.Base64Error:
        raise refused(f"{name}: must be base64.") from None

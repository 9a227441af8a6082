"""The issuer's resources: for the site that publishes recipes, and for the attester; all are signed."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from panprivacy.formats import base64_text
from panprivacy.protocols.oblivious_http.capsules import LARGEST_CAPSULE
from panprivacy.protocols.oblivious_prf.evaluation import ELEMENT_BYTES
from panprivacy.protocols.signed_count import IssuedTokens
from partners.issuer_calls import HANDLE_BYTES
from partners.json_bodies import json_response, read_json
from partners.problems import refused
from partners.request_ids import request_of
from partners.required_settings import required
from partners.signed_views import signed
from storage import clock
from storage.signing_key import signing_key
from tokens.issuer.limits import (
    KEY_REQUEST_BYTES,
    MOST_WITHHELD,
    REASON_BYTES,
    REGISTRATION_BYTES,
    TOKEN_REQUEST_BYTES,
)
from tokens.issuer.models import Issuance
from tokens.issuer.recipe_ends import issuance_end, upkeep
from tokens.issuer.registrations import issuance_register, issuer_name, token_key_make
from tokens.issuer.token_answers import token_request_answer, unrecognized_recipe
from web.failures import View


def _for(setting: str, *methods: str, most: int) -> Callable[[View], View]:
    """A view for the one whose verification key is in that setting."""
    return signed(
        methods=methods,
        peer_key=lambda: required(getattr(settings, setting), f"PANAPP_{setting}"),
        base_url=lambda: required(settings.ISSUER_URL, "PANAPP_ISSUER_URL"),
        most=lambda: most,
    )


_for_site, _for_attester = partial(_for, "SITE_KEY"), partial(_for, "ATTESTER_KEY")


@_for_site("POST", most=KEY_REQUEST_BYTES)
def token_keys(request: HttpRequest, body: bytes) -> HttpResponse:
    """A token key for a recipe that is about to be published."""
    content = read_json(request, body, {"request"})
    upkeep(now=clock.settled_now())
    token_key = token_key_make(request=request_of(content["request"]), now=timezone.now())
    return json_response(
        {
            "token_key": base64_text.encode(token_key),
            "issuer_name": issuer_name(),
            "attester_url": required(settings.ATTESTER_URL, "PANAPP_ATTESTER_URL"),
        }
    )


@_for_site("PUT", most=REGISTRATION_BYTES)
def recipe(request: HttpRequest, body: bytes, *, identifier: str) -> HttpResponse:
    """Issuing tokens for a recipe."""
    content = read_json(request, body, {"document", "request"})
    upkeep(now=clock.settled_now())
    signature = issuance_register(
        identifier=identifier,
        document=content["document"],
        request=request_of(content["request"]),
        now=timezone.now(),
    )
    return json_response({"signature": base64_text.encode(signature)})


@_for_site("POST", most=REASON_BYTES)
def end(request: HttpRequest, body: bytes, *, identifier: str) -> HttpResponse:
    """The end of issuing, and how many tokens were issued."""
    reason = read_json(request, body, {"reason"})["reason"]
    found = Issuance.objects.filter(identifier=identifier).first()
    if found is None:
        raise unrecognized_recipe()
    issued = issuance_end(issuance=found, reason=reason, now=timezone.now())
    signature = IssuedTokens(identifier, issued).sign(signing_key())
    return json_response({"issued": issued, "signature": base64_text.encode(signature)})


@_for_attester("POST", most=TOKEN_REQUEST_BYTES)
def tokens(request: HttpRequest, body: bytes) -> HttpResponse:
    """One device's request, which only the issuer opens."""
    content = read_json(request, body, {"element", "capsule"}, lists={"withheld"})
    capsule = _bytes("capsule", content["capsule"])
    if len(capsule) > LARGEST_CAPSULE:
        raise refused(f"capsule: must have at most {LARGEST_CAPSULE:,} bytes.")
    answered = token_request_answer(
        element=_bytes("element", content["element"], ELEMENT_BYTES),
        capsule=capsule,
        withheld=_handles(content["withheld"]),
        now=timezone.now(),
    )
    return json_response(
        {
            "element": _text(answered.element),
            "capsule": base64_text.encode(answered.capsule),
            "handle": _text(answered.handle),
        }
    )


def _handles(values: Sequence[str]) -> list[bytes]:
    if len(values) > MOST_WITHHELD:
        raise refused(f"withheld: must name at most {MOST_WITHHELD:,} handles.")
    return [_bytes("withheld", value, HANDLE_BYTES) for value in values]


def _bytes(name: str, value: Any, length: int | None = None) -> bytes:
    try:
        return base64_text.decode(value, length)
    except base64_text.Base64Error as error:
        raise refused(f"{name}: {error}.") from None


def _text(value: bytes | None) -> str | None:
    return None if value is None else base64_text.encode(value)

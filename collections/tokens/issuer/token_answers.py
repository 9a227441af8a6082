"""Answering one token request: blind to the device, and counted once whatever is repeated."""

import json
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction

from panprivacy.encryption.secp256k1 import parse
from panprivacy.formats.tls_messages import InvalidMessageError
from panprivacy.protocols.oblivious_http.binary_http import InvalidBinaryHttpError, Request, Response
from panprivacy.protocols.oblivious_prf.evaluation import evaluate
from panprivacy.protocols.privacy_pass.issuance import InvalidRequestError, issue
from panprivacy.protocols.privacy_pass.tokens import TokenRequest
from panprivacy.protocols.token_request import (
    RESPONSE_MEDIA_TYPE,
    OtherContentError,
    OtherRequestError,
    recipe_asked,
)
from partners.ohttp.gateway.capsules import answer_seal, capsule_open
from partners.problems import refused
from storage.erasable_keys import KeyErasedError
from tokens.issuer.keys import Issuing, issuing, keys_forget
from tokens.issuer.models import Handle, Issuance
from web.problems import CONTENT_TYPE as PROBLEM_TYPE
from web.problems import Problem, malformed_body, not_found, unsupported_media_type


@dataclass(frozen=True)
class Answered:
    """What the attester gets.

    Attributes:
        capsule: for the device, of one length whatever was answered.
        element: the attester's, evaluated under the recipe's key; None if the device gets no token.
        handle: names the answer; None as `element`.
    """

    capsule: bytes
    element: bytes | None
    handle: bytes | None


@dataclass(frozen=True)
class _Token:
    """A request that will be granted, if its recipe still issues.

    Attributes:
        issuance: key of the recipe's row.
    """

    issuance: int
    signature: bytes
    element: bytes
    handle: bytes


def token_request_answer(
    *, element: bytes, capsule: bytes, withheld: Sequence[bytes], now: datetime
) -> Answered:
    """Open what a device asked, sign it blindly, and count it, unless the same one is already counted.

    Args:
        element: a point of the curve that the attester blinded.
        capsule: the device's, sealed to one of the gateway's keys.
        withheld: handles of past answers that the attester handed to no device. They do not count, whenever
            and however often they are named; unknown ones have no effect.

    Raises:
        Problem: the capsule does not open, or the element is none. Nothing was counted, or withheld.
    """
    if parse(element) is None:
        raise refused("element: must be a compressed point of secp256k1, 33 bytes.")
    opened, context = capsule_open(capsule)
    token: _Token | None = None
    try:
        token = _token(opened, element, now)
        response = Response(200, ((b"content-type", RESPONSE_MEDIA_TYPE.encode()),), token.signature)
    except Problem as problem:
        # Only the device learns the reason; the attester sees only that there is no token.
        response = _problem_response(problem)
    with transaction.atomic():
        # The recipe's row is locked before any handle, as when issuing ends, so that no two wait for each
        # other.
        if token is not None and not _count(token):
            token, response = None, _problem_response(_not_issuing())
            keys_forget()
        if withheld:
            _withhold(withheld)
    sealed = answer_seal(context, response)
    if token is None:
        return Answered(sealed, None, None)
    return Answered(sealed, token.element, token.handle)


def _token(opened: bytes, element: bytes, now: datetime) -> _Token:
    """What the device asked for, computed; Problem if it gets none."""
    try:
        request = Request.decode(opened)
    except InvalidBinaryHttpError as error:
        raise malformed_body(f"The capsule holds no request: {error}.") from None
    try:
        identifier = recipe_asked(request)
    except OtherRequestError:
        raise not_found("Nothing has this address.") from None
    except OtherContentError as error:
        raise unsupported_media_type(f"{error}.") from None
    try:
        recipe = issuing(identifier)
    except KeyErasedError:
        raise _not_issuing() from None
    if recipe is None and not Issuance.objects.filter(identifier=identifier).exists():
        raise unrecognized_recipe()
    if recipe is None or recipe.ends_at <= now:
        raise _not_issuing()
    return _granted(recipe, request.content, element)


def _granted(recipe: Issuing, body: bytes, element: bytes) -> _Token:
    keys = recipe.keys
    try:
        asked = TokenRequest.decode(body)
        if not any(asked.blinded_message):
            raise InvalidRequestError("the blinded message must not be 0")
        signature = issue(keys.token, asked, secrets.SystemRandom()).blind_signature
    except (InvalidMessageError, InvalidRequestError) as error:
        title = "The token request is not understood"
        raise Problem("malformed-token-request", title, 422, f"{error}.") from None
    return _Token(recipe.pk, signature, evaluate(keys.prf, element), keys.handle_of(asked.blinded_message))


def _count(token: _Token) -> bool:
    """Count the token unless it is already counted; whether the recipe still issues. In the answer's
    transaction.
    """
    # The end takes the same lock: it sees this row, or this sees the end.
    locked = Issuance.objects.select_for_update().filter(pk=token.issuance)
    if locked.values_list("state", flat=True).first() != Issuance.State.ISSUING:
        return False
    # One statement, which leaves a row of this handle as it is.
    row = Handle(handle=token.handle, issuance_id=token.issuance)
    unchanged = ("handle",)
    Handle.objects.bulk_create([row], update_conflicts=True, unique_fields=unchanged, update_fields=unchanged)
    return True


def _withhold(handles: Sequence[bytes]) -> None:
    """Count these no more. Requests name the same ones at once: they lock rows in one order, and those
    already stored are not locked at all."""
    named = Handle.objects.select_for_update().filter(handle__in=handles, withheld=False)
    keys = list(named.order_by("pk").values_list("pk", flat=True))
    Handle.objects.filter(pk__in=keys).update(withheld=True)


def unrecognized_recipe() -> Problem:
    """A recipe that was never registered with this issuer."""
    detail = "This issuer signs no tokens for the recipe."
    return Problem("unrecognized-recipe", "There is no such recipe", 404, detail)


def _not_issuing() -> Problem:
    detail = "Tokens are issued until the recipe closes."
    return Problem("recipe-not-open", "The recipe has tokens no more", 409, detail)


def _problem_response(problem: Problem) -> Response:
    content = json.dumps(problem.document()).encode()
    return Response(problem.status, ((b"content-type", PROBLEM_TYPE.encode()),), content)

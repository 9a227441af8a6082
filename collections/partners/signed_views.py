"""Views that only one other server may use: signed requests in, signed answers out (RFC 9421). Those for
servers that bear a token instead are here too."""

from collections.abc import Callable
from functools import wraps
from typing import Any
from urllib.parse import urlsplit

import structlog
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt

from panprivacy.protocols.dap.signature_base import SignatureRefusedError
from panprivacy.protocols.dap.signatures import sign_response, verify_request
from panprivacy.protocols.dap.tokens import TokenHash, TokenRefusedError
from panprivacy.protocols.ed25519 import public_key_of
from storage.signing_key import signing_key
from web.bodies import read_body
from web.bounded_logging import BoundedLine
from web.failures import FAILURES, About, View, about_nothing, failure_response
from web.problems import Problem, method_not_allowed

logger = structlog.get_logger(__name__)

_REFUSED = BoundedLine()
"""Anyone can send signatures that do not hold, and wrong tokens."""


def signed(
    *,
    methods: tuple[str, ...],
    peer_key: Callable[[], bytes],
    base_url: Callable[[], str],
    most: Callable[[], int],
    about: About = about_nothing,
) -> Callable[[View], View]:
    """A view that only the other installation may use, and whose every answer is signed, errors too.

    The view is called as `view(request, body, **arguments)`, with a body whose signature holds. An answer to
    a request that bears no signature at all cannot be bound to it, and is the only one unsigned. What is
    refused before the signature holds may be caused by the network: its status is one of `client.NOT_FINAL`.

    Args:
        methods: HTTP methods that the view knows; others get 405.
        peer_key: the other installation's Ed25519 verification key.
        base_url: our own base address, as the other installation knows it.
        most: largest body in bytes.
        about: see `web.failures.About`.
    """

    def authenticated_body(request: HttpRequest) -> bytes:
        body = read_body(request, most())
        _require_signature(request, body, peer_key(), base_url())
        return body

    return _guarded(methods, authenticated_body, about, is_signed=True)


def bearing_token(
    *,
    methods: tuple[str, ...],
    token: Callable[[], TokenHash],
    most: Callable[[], int],
    about: About = about_nothing,
) -> Callable[[View], View]:
    """The same for a server that bears a token with each request. Answers are not signed.

    Args:
        token: the hash of the one token that is good; asked before the body is read.
    """

    def authenticated_body(request: HttpRequest) -> bytes:
        _require_token(request, token())
        return read_body(request, most())

    return _guarded(methods, authenticated_body, about, is_signed=False)


def _guarded(
    methods: tuple[str, ...],
    authenticated_body: Callable[[HttpRequest], bytes],
    about: About,
    *,
    is_signed: bool,
) -> Callable[[View], View]:
    def decorate(view: View) -> View:
        @csrf_exempt  # nothing here depends on a session: there is nothing to forge
        @wraps(view)
        def answer(request: HttpRequest, **arguments: Any) -> HttpResponse:
            try:
                body = authenticated_body(request)
                if request.method not in methods:
                    raise method_not_allowed(", ".join(methods))
                response = view(request, body, **arguments)
            except FAILURES as failure:
                response = failure_response(
                    failure,
                    methods=methods,
                    undone="The database is busy. Ask again.",
                    members=about(arguments),
                )
            except Exception:  # whatever it is, the other side must see that it came from us
                logger.exception("request_failed")
                response = Problem(
                    "internal-error", "Something went wrong here", 500, "The fault is on our side. Ask again."
                ).response()
            response["Cache-Control"] = "no-store"
            return _sign(request, response) if is_signed else response

        return answer

    return decorate


def _require_signature(request: HttpRequest, body: bytes, peer_key: bytes, base_url: str) -> None:
    if "Signature" not in request.headers:
        detail = "Only the other installation may ask for this, with a signed request."
        raise Problem("unsigned", "The request is not signed", 401, detail)
    # Our own address and not the Host header: a request to another server must not be valid here.
    origin = "{0.scheme}://{0.netloc}".format(urlsplit(base_url))
    try:
        verify_request(
            method=request.method or "",
            url=origin + request.get_full_path(),
            headers=request.headers,
            body=body,
            verification_key=public_key_of(peer_key),
            now=int(timezone.now().timestamp()),
        )
    except SignatureRefusedError as error:
        left_out = _REFUSED.claim()
        if left_out is not None:
            logger.warning("signature_refused", why=str(error), left_out=left_out)
        detail = "The signature does not hold: see clocks, addresses and keys of both sides."
        raise Problem("signature-refused", "The signature was refused", 403, detail) from None


def _require_token(request: HttpRequest, token: TokenHash) -> None:
    try:
        token.require(request.headers)
    except TokenRefusedError as error:
        left_out = _REFUSED.claim()
        if left_out is not None:
            logger.warning("token_refused", why=str(error), left_out=left_out)
        detail = "Only the other server of this task may ask for this, with the token of the task."
        raise Problem("token-refused", "The token was refused", 403, detail) from None


def _sign(request: HttpRequest, response: HttpResponse) -> HttpResponse:
    try:
        headers = sign_response(
            status=response.status_code,
            headers=response.headers,
            body=response.content,
            request_headers=request.headers,
            signing_key=signing_key(),
        )
    except SignatureRefusedError:
        return response
    for name, value in headers.items():
        response[name] = value
    return response

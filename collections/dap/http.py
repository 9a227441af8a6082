"""What the resources of both aggregators have in common: addresses, bodies, problem documents, signatures."""

import base64
import json
from collections.abc import Callable
from functools import wraps
from typing import Any
from urllib.parse import urlsplit

import structlog
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from django.db import OperationalError
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt

from panprivacy.dap.basics import TASK_ID_BYTES
from panprivacy.dap.codec import Message
from panprivacy.dap.media import PROBLEMS, is_media_type, problem_type
from panprivacy.dap.signatures import SignatureRefusedError, sign_response, verify_request

logger = structlog.get_logger(__name__)

PROBLEM_TYPE = "application/problem+json"
JSON_TYPE = "application/json"
RESOURCE_ID_BYTES = 16

STATUSES = {
    "unrecognizedTask": 404,
    "unrecognizedAggregationJob": 404,
    "batchOverlap": 409,
    "batchMismatch": 409,
}
"""HTTP status of those errors of DAP that are not a plain 400."""

RETRY_SECONDS = 5
"""When to ask again: after a fault of ours, or for what is not ready yet."""

View = Callable[..., HttpResponse]


class DapProblem(Exception):  # noqa: N818  # the term of RFC 9457
    """An error to be answered as a problem document.

    Attributes:
        document: the JSON object.
        status: HTTP status.
    """

    def __init__(self, type_: str, title: str, status: int, detail: str, **members: Any) -> None:
        super().__init__(detail)
        self.status = status
        self.document = {"type": type_, "title": title, "status": status, "detail": detail, **members}

    @classmethod
    def of(cls, token: str, detail: str, **members: Any) -> "DapProblem":
        """An error of the draft, by its token, e.g. `invalidMessage`."""
        return cls(problem_type(token), PROBLEMS[token], STATUSES.get(token, 400), detail, **members)

    @classmethod
    def plain(cls, kind: str, title: str, status: int, detail: str) -> "DapProblem":
        """An error for which the draft has no token; its namespace is not ours to extend."""
        return cls(f"/problems/{kind}", title, status, detail)

    def about(self, task_id: bytes) -> "DapProblem":
        """The same, saying which task it is about."""
        self.document["taskid"] = encode_id(task_id)
        return self

    def response(self) -> HttpResponse:
        """The answer."""
        response = HttpResponse(json.dumps(self.document), status=self.status, content_type=PROBLEM_TYPE)
        if self.status == 503:
            response["Retry-After"] = str(RETRY_SECONDS)
        return response


def encode_id(identifier: bytes) -> str:
    """An identifier as it stands in an address: base64url without padding."""
    return base64.urlsafe_b64encode(identifier).rstrip(b"=").decode("ascii")


class _IdConverter:
    """An identifier in an address. Other spellings of the same bytes have no address."""

    length: int

    def to_python(self, value: str) -> bytes:
        identifier = base64.urlsafe_b64decode(value + "=" * (-len(value) % 4))
        if len(identifier) != self.length or encode_id(identifier) != value:
            raise ValueError("not the encoding of an identifier")
        return identifier

    def to_url(self, value: bytes) -> str:
        return encode_id(value)


class TaskIdConverter(_IdConverter):
    """`{task-id}`: 32 bytes."""

    regex = "[A-Za-z0-9_-]{43}"
    length = TASK_ID_BYTES


class ResourceIdConverter(_IdConverter):
    """The identifier of an aggregation job, a collection job or an aggregate share: 16 bytes."""

    regex = "[A-Za-z0-9_-]{22}"
    length = RESOURCE_ID_BYTES


def read_body(request: HttpRequest, most: int) -> bytes:
    """The request's body, if it is at most `most` bytes; its length is looked at before it is read.

    Raises:
        DapProblem: too large, of unknown length, or cut short.
    """
    if "chunked" in request.headers.get("Transfer-Encoding", "").lower():
        raise DapProblem.plain("length-required", "The body's length is missing", 411, "Send Content-Length.")
    try:
        if int(request.headers.get("Content-Length") or 0) > most:
            raise RequestDataTooBig
        return request.body
    except RequestDataTooBig:
        detail = f"A body here is at most {most:,} bytes."
        raise DapProblem.plain("body-too-large", "The body is too large", 413, detail) from None
    except (OSError, ValueError):
        raise DapProblem.plain("body-cut-short", "The body ended early", 408, "Send it again.") from None


def require_message_type(request: HttpRequest, message: type[Message]) -> None:
    """Raises DapProblem unless Content-Type names `message`."""
    if not is_media_type(request.headers.get("Content-Type", ""), message):
        raise DapProblem.plain(
            "unsupported-media-type",
            "The media type is not supported",
            415,
            f"Content-Type must be that of {message.__name__}.",
        )


def read_json(request: HttpRequest, body: bytes, members: set[str]) -> dict[str, str]:
    """A JSON object with exactly these members, all text.

    Raises:
        DapProblem: anything else.
    """
    try:
        content = json.loads(body)
    except (ValueError, RecursionError):
        content = None
    if (
        request.content_type != JSON_TYPE
        or not isinstance(content, dict)
        or set(content) != members
        or not all(isinstance(value, str) for value in content.values())
    ):
        names = ", ".join(sorted(members))
        raise DapProblem.of("invalidMessage", f"The body must be a JSON object with the texts {names}.")
    return content


def json_response(content: dict[str, Any]) -> HttpResponse:
    """A JSON answer."""
    return HttpResponse(json.dumps(content), content_type=JSON_TYPE)


def empty_response() -> HttpResponse:
    """A success without content, which has no media type either."""
    response = HttpResponse(b"")
    del response["Content-Type"]
    return response


def signing_key() -> Ed25519PrivateKey:
    """This installation's."""
    return Ed25519PrivateKey.from_private_bytes(settings.SIGNING_KEY)


def own_verification_key() -> bytes:
    """The public half of `signing_key`, 32 bytes."""
    return signing_key().public_key().public_bytes_raw()


def signed(
    *,
    methods: tuple[str, ...],
    peer_key: Callable[[], bytes],
    base_url: Callable[[], str],
    most: Callable[[], int],
) -> Callable[[View], View]:
    """A view that only the other aggregator may use, and whose every answer is signed, errors too.

    The view is called as `view(request, body, **arguments)`, with a body whose signature holds. An answer
    to a request that bears no signature at all cannot be bound to it, and is the only one unsigned. What is
    refused before the signature holds may be the network's doing: its status is one of `client.NOT_FINAL`.

    Args:
        methods: HTTP methods that the view knows; others get 405.
        peer_key: the other aggregator's Ed25519 verification key.
        base_url: our own base address, as the other aggregator knows it.
        most: largest body in bytes.
    """

    def decorate(view: View) -> View:
        @csrf_exempt  # nothing here depends on a session: there is nothing to forge
        @wraps(view)
        def answer(request: HttpRequest, **arguments: Any) -> HttpResponse:
            try:
                body = read_body(request, most())
                _require_signature(request, body, peer_key(), base_url())
                if request.method not in methods:
                    allowed = ", ".join(methods)
                    detail = f"Allowed: {allowed}."
                    raise DapProblem.plain("method-not-allowed", "The method is not allowed", 405, detail)
                response = view(request, body, **arguments)
            except DapProblem as problem:
                if "task_id" in arguments:
                    problem = problem.about(arguments["task_id"])
                response = problem.response()
                if problem.status == 405:
                    response["Allow"] = ", ".join(methods)
            except OperationalError:
                # Nothing was done: a transaction is whole or not at all.
                logger.exception("database_unavailable")
                response = _unavailable("The database is busy. Ask again.")
            except Exception:  # whatever it is, the other side must see that it came from us
                logger.exception("request_failed")
                response = DapProblem.plain(
                    "internal-error", "Something went wrong here", 500, "The fault is on our side. Ask again."
                ).response()
            response["Cache-Control"] = "no-store"
            return _sign(request, response)

        return answer

    return decorate


def _unavailable(detail: str) -> HttpResponse:
    return DapProblem.plain("unavailable", "The server is busy", 503, detail).response()


def _require_signature(request: HttpRequest, body: bytes, peer_key: bytes, base_url: str) -> None:
    if "Signature" not in request.headers:
        detail = "Only the other aggregator may ask for this, with a signed request."
        raise DapProblem.plain("unsigned", "The request is not signed", 401, detail)
    # Our own address and not the Host header: a request to somebody else must not be good for us.
    origin = "{0.scheme}://{0.netloc}".format(urlsplit(base_url))
    try:
        verify_request(
            method=request.method or "",
            url=origin + request.get_full_path(),
            headers=request.headers,
            body=body,
            verification_key=Ed25519PublicKey.from_public_bytes(peer_key),
            now=int(timezone.now().timestamp()),
        )
    except SignatureRefusedError as error:
        logger.warning("signature_refused", why=str(error))
        detail = "The signature does not hold: see clocks, addresses and keys of both sides."
        raise DapProblem.plain("signature-refused", "The signature was refused", 403, detail) from None


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

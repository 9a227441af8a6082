"""The only error format of all APIs: problem documents (RFC 9457)."""

import json
from typing import Any, TypeVar

from django.conf import settings
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse

from panprivacy.formats.errors import FieldError

M = TypeVar("M", bound=Model)

CONTENT_TYPE = "application/problem+json"

RETRY_SECONDS = 5
"""When to ask again: after a fault of ours, or for what is not ready yet."""


class Problem(Exception):  # noqa: N818  # the term of RFC 9457
    """An error to be answered as a problem document.

    Attributes:
        kind: last part of the `type` field, e.g. `not-found`; or the whole `type` of another namespace.
        title: the same for every problem of this kind.
        status: HTTP status.
        detail: what is wrong with this request.
        members: further fields, e.g. `field` or `reason`.
    """

    def __init__(self, kind: str, title: str, status: int, detail: str, **members: Any) -> None:
        super().__init__(detail)
        self.kind = kind
        self.title = title
        self.status = status
        self.detail = detail
        self.members = members

    def document(self) -> dict[str, Any]:
        """The JSON object to answer with."""
        return {
            "type": self.kind if ":" in self.kind else f"/problems/{self.kind}",
            "title": self.title,
            "status": self.status,
            "detail": self.detail,
            **self.members,
        }

    def response(self) -> HttpResponse:
        """The answer: the document with its status, and with `Retry-After` for 503."""
        content = json.dumps(self.document())
        response = HttpResponse(content, status=self.status, content_type=CONTENT_TYPE)
        if self.status == 503:
            response["Retry-After"] = str(RETRY_SECONDS)
        return response


def malformed_body(detail: str) -> Problem:
    """400: the body does not match its media type. `detail`: a sentence that states what is wrong with it."""
    return Problem("malformed-body", "The body cannot be read", 400, detail)


def invalid_parameter(field: str, detail: str) -> Problem:
    """400: a parameter or field is wrong. `field`: its name; `detail`: a sentence, what is wrong."""
    return Problem("invalid-parameter", "A parameter is not understood", 400, detail, field=field)


def invalid_field(error: FieldError) -> Problem:
    """400: a refusal of the domain, which names the field; half surrogate pairs become question marks."""
    # What was sent may hold half a surrogate pair, which no answer can.
    field, detail = (text.encode(errors="replace").decode() for text in (error.field, str(error)))
    return invalid_parameter(field, f"{detail}.")


def conflict(error: Exception) -> Problem:
    """409: what is asked does not fit the state in which things are; nothing was changed.

    `error`: the reason, without a full stop.
    """
    return Problem("state-conflict", "The state does not allow this", 409, f"Nothing was changed: {error}.")


def unsupported_media_type(detail: str) -> Problem:
    """415: the body is of a kind that is not read here. `detail`: a sentence that lists those that are."""
    return Problem("unsupported-media-type", "The media type is not supported", 415, detail)


def not_found(detail: str) -> Problem:
    """404: nothing is there. `detail`: a sentence that names what was requested."""
    return Problem("not-found", "There is nothing here", 404, detail)


def row_found(rows: QuerySet[M], detail: str, **wanted: Any) -> M:
    """The row that has these values; 404 if there is none. `detail`: as of `not_found`."""
    row = rows.filter(**wanted).first()
    if row is None:
        raise not_found(detail)
    return row


def unavailable(detail: str) -> Problem:
    """503, with `Retry-After`: not at present. `detail`: a sentence with the reason, and that a
    retry helps."""
    return Problem("unavailable", "The server is busy", 503, detail)


def too_often(detail: str) -> Problem:
    """429: the sender has to wait. `detail`: a sentence that states what was too often."""
    return Problem("too-often", "That was asked too often", 429, detail)


def method_not_allowed(allowed: str) -> Problem:
    """405: another method is meant. `allowed`: those that work here, with commas between them."""
    return Problem("method-not-allowed", "The method is not allowed", 405, f"Allowed: {allowed}.")


PROGRAM_ASKS = "panapp.program_asks"
"""True in the environment of a request that no browser shows, whatever its address: one from a capsule."""


def is_api_request(request: HttpRequest) -> bool:
    """Whether an error should be answered as a problem document rather than as a page."""
    return PROGRAM_ASKS in request.META or f"{request.path}/".startswith(settings.PROGRAM_ADDRESSES)

"""What the resources of both aggregators have in common: addresses, media types, fields of problems."""

from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest, HttpResponse

from panprivacy.formats import base64_text
from panprivacy.formats.tls_messages import Message
from panprivacy.protocols.dap.basics import TASK_ID_BYTES
from panprivacy.protocols.dap.media import is_media_type
from web.problems import unsupported_media_type

RESOURCE_ID_BYTES = 16


class _IdConverter:
    """An identifier in an address. Other spellings of the same bytes have no address."""

    length: int

    def to_python(self, value: str) -> bytes:
        return base64_text.decode_url(value, self.length)

    def to_url(self, value: bytes) -> str:
        return base64_text.encode_url(value)


class TaskIdConverter(_IdConverter):
    """`{task-id}`: 32 bytes."""

    regex = "[A-Za-z0-9_-]{43}"
    length = TASK_ID_BYTES


class ResourceIdConverter(_IdConverter):
    """The identifier of an aggregation job, a collection job or an aggregate share: 16 bytes."""

    regex = "[A-Za-z0-9_-]{22}"
    length = RESOURCE_ID_BYTES


def require_message_type(request: HttpRequest, message: type[Message]) -> None:
    """Raises Problem unless Content-Type names `message`."""
    if not is_media_type(request.headers.get("Content-Type", ""), message):
        raise unsupported_media_type(f"Content-Type must be that of {message.__name__}.")


def empty_response() -> HttpResponse:
    """A success without content, which has no media type either."""
    response = HttpResponse(b"")
    del response["Content-Type"]
    return response


def about_task(arguments: Mapping[str, Any]) -> dict[str, str]:
    """The field by which DAP's problem documents name the task that a view was called with."""
    return {"taskid": base64_text.encode_url(arguments["task_id"])} if "task_id" in arguments else {}

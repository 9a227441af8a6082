"""What the resources of both aggregators have in common: addresses, callers, media types and problems."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from operator import attrgetter
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt

from panprivacy.formats import base64_text
from panprivacy.formats.tls_messages import Message
from panprivacy.protocols.dap.basics import TASK_ID_BYTES
from panprivacy.protocols.dap.dialects import Dialect
from panprivacy.protocols.dap.media import is_media_type
from panprivacy.protocols.dap.tokens import TokenHash
from partners.signed_views import bearing_token, signed
from web.failures import View
from web.problems import unsupported_media_type

RESOURCE_ID_BYTES = 16

Methods = Callable[[Dialect], tuple[str, ...]]
"""HTTP methods of a resource in a dialect."""

LIST: Methods = attrgetter("list_methods")
ITEM: Methods = attrgetter("item_methods")


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


@dataclass(frozen=True, kw_only=True)
class Caller:
    """The one that may use a resource of a task, and how it proves that it is the one.

    Attributes:
        dialect: as it speaks: it signs its requests, or bears a token.
        peer_key, base_url: as in `signed`.
        token: as in `bearing_token`; None if it signs.
    """

    dialect: Dialect
    peer_key: Callable[[], bytes]
    base_url: Callable[[], str]
    token: Callable[[], TokenHash] | None = None


def for_caller(
    caller_of: Callable[[bytes], Caller], *methods: Methods, most: Callable[[], int]
) -> Callable[[View], View]:
    """A view for the one caller of the task in its address. It is called with the request's body, as by
    `signed` or `bearing_token`.

    Args:
        caller_of: of a task's identifier, also of an unknown one.
        methods: HTTP methods of the resource in a dialect, added up.
        most: largest body in bytes.
    """

    def decorate(view: View) -> View:
        @csrf_exempt
        @wraps(view)
        def answer(request: HttpRequest, task_id: bytes, **arguments: Any) -> HttpResponse:
            caller = caller_of(task_id)
            allowed = tuple(method for of in methods for method in of(caller.dialect))
            if caller.token is None:
                guard = signed(
                    methods=allowed,
                    peer_key=caller.peer_key,
                    base_url=caller.base_url,
                    most=most,
                    about=about_task,
                )
            else:
                guard = bearing_token(methods=allowed, token=caller.token, most=most, about=about_task)
            return guard(view)(request, task_id=task_id, **arguments)

        return answer

    return decorate


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

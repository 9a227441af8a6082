"""Reading a request's body: its length is looked at before memory is spent on it, and it is let go of soon.

A body grows when it is taken apart: into text, lists and their members, each beside the other. So all bodies
that are in work have `ROOM_BYTES` together, and those for which there is no room wait. Reading is not bounded
so: who sends slowly would keep the room from all others.
"""

import threading
import time
import weakref
from collections.abc import Callable
from io import BytesIO

from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, HttpResponse

from web.problems import Problem, unavailable

JSON_TYPE = "application/json"
MESSAGEPACK_TYPE = "application/msgpack"

SMALL_BYTES = 64 * 1024
"""Bodies up to this length wait for nobody: those of single devices."""

ROOM_BYTES = 64 * 1024 * 1024
"""Bytes of all larger bodies that one process works on at once."""

PATIENCE_SECONDS = 10.0
"""How long a body waits for room before its sender is told to come again."""


def read_body(request: HttpRequest, most: int) -> bytes:
    """The request's body.

    Args:
        most: bytes that it may have, at most `ROOM_BYTES`.

    Raises:
        Problem: too large (413), of unknown length (411), or cut short (408); or too many are being worked on
            (503).
    """
    if "chunked" in request.META.get("HTTP_TRANSFER_ENCODING", "").lower():
        raise Problem("length-required", "The body's length is missing", 411, "Send Content-Length.")
    try:
        # Looked at before anything is read. It is a number: the server has parsed it already.
        length = int(request.META.get("CONTENT_LENGTH") or 0)
        if length > most:
            raise RequestDataTooBig
        body = request.body
        if len(body) < length:  # some servers give what came, and say nothing
            raise EOFError
    except RequestDataTooBig:
        detail = f"A body here is at most {most:,} bytes."
        raise Problem("body-too-large", "The body is too large", 413, detail) from None
    except (EOFError, OSError, ValueError):
        raise Problem("body-cut-short", "The body ended early", 408, "Send it again.") from None
    if len(body) > SMALL_BYTES:
        _hold_room(request, len(body))
    return body


class BodiesMiddleware:
    """Lets go of a request's body as soon as it is answered. The first of all, so that nobody comes after it.

    Requests are parts of reference cycles, which other middlewares make (for tokens, messages, accounts), and
    stay in memory until Python looks for cycles: hundreds of requests later, or never on an idle server.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        try:
            return self.get_response(request)
        finally:
            body_forget(request)


class _Room:
    """So many bytes, shared by threads."""

    def __init__(self, size: int) -> None:
        self._left = size
        self._changed = threading.Condition()

    def take(self, size: int, seconds: float) -> bool:
        """Whether there was room within that time."""
        ends = time.monotonic() + seconds
        with self._changed:
            while size > self._left:
                if not self._changed.wait(max(0.0, ends - time.monotonic())):
                    return False
            self._left -= size
        return True

    def give_back(self, size: int) -> None:
        with self._changed:
            self._left += size
            self._changed.notify_all()


_ROOM = _Room(ROOM_BYTES)


def _hold_room(request: HttpRequest, size: int) -> None:
    if not _ROOM.take(size, PATIENCE_SECONDS):
        raise unavailable("Too many large bodies are being worked on. Nothing was stored. Send it again.")
    # Given back with the request itself where no middleware does it.
    request.__dict__["_give_room_back"] = weakref.finalize(request, _ROOM.give_back, size)


def body_forget(request: HttpRequest) -> None:
    """Let go of a request's body, and of the room that it takes."""
    held = request.__dict__
    held.pop("_body", None)
    held["_stream"] = BytesIO()
    request.META.pop("wsgi.input", None)
    if "_give_room_back" in held:
        held.pop("_give_room_back")()

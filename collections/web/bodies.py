"""Reading a request's body: its length is checked before memory is spent on it, and it is freed soon.

A body grows when it is taken apart: into text, lists and their fields, all in memory at once. So all bodies
in work share `ROOM_BYTES`, and those that do not fit wait. Reading is not bounded in this manner: a slow
sender would take the memory from all others.
"""

import threading
import time
import weakref
from collections.abc import Callable
from contextlib import suppress
from io import BytesIO

from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, HttpResponse

from web.problems import Problem, unavailable, unsupported_media_type

JSON_TYPE = "application/json"

SMALL_BYTES = 64 * 1024
"""Bodies up to this length never wait: those of single devices."""

ROOM_BYTES = 64 * 1024 * 1024
"""Bytes of all larger bodies that one process works on at once."""

PATIENCE_SECONDS = 10.0
"""How long a body waits for memory before its sender is asked to retry."""


def require_json(request: HttpRequest) -> None:
    """Raise the answer 415 unless the request declares its body as JSON."""
    if request.content_type != JSON_TYPE:
        raise unsupported_media_type(f"Content-Type must be {JSON_TYPE}.")


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
        # Checked before anything is read. It is a number: the server has parsed it already.
        length = int(request.META.get("CONTENT_LENGTH") or 0)
        if length > most:
            raise RequestDataTooBig
        body = request.body
        if len(body) < length:  # some servers pass a short body on without an error
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
    """Lets go of a request's body as soon as it is answered. The outermost middleware, so that none uses the
    body after it.

    Requests are parts of reference cycles, which other middlewares make (for tokens, messages, accounts), and
    stay in memory until Python searches for cycles: hundreds of requests later, or never on an idle server.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        try:
            return self.get_response(request)
        finally:
            _read_rest(request)
            body_forget(request)


class _Room:
    """A number of bytes, shared by threads."""

    def __init__(self, size: int) -> None:
        self._left = size
        self._changed = threading.Condition()

    def take(self, size: int, seconds: float) -> bool:
        """Whether enough was free within that time."""
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
    # Given back with the request itself if no middleware does it.
    request.__dict__["_give_room_back"] = weakref.finalize(request, _ROOM.give_back, size)


def _read_rest(request: HttpRequest) -> None:
    """Read a small body that a refusal left unread: else the server closes a connection that the client keeps
    for its next request."""
    with suppress(OSError, ValueError, RequestDataTooBig):
        if int(request.META.get("CONTENT_LENGTH") or 0) <= SMALL_BYTES:
            request.read(SMALL_BYTES)


def body_forget(request: HttpRequest) -> None:
    """Free a request's body, and the memory that it takes."""
    held = request.__dict__
    held.pop("_body", None)
    held["_stream"] = BytesIO()
    request.META.pop("wsgi.input", None)
    if "_give_room_back" in held:
        held.pop("_give_room_back")()

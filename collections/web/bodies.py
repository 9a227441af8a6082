"""Reading a request's body: its length is looked at before memory is spent on it."""

from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest

from web.problems import Problem

JSON_TYPE = "application/json"
MESSAGEPACK_TYPE = "application/msgpack"


def read_body(request: HttpRequest, most: int) -> bytes:
    """The request's body.

    Args:
        most: bytes that it may have.

    Raises:
        Problem: too large (413), of unknown length (411), or cut short (408).
    """
    if "chunked" in request.headers.get("Transfer-Encoding", "").lower():
        raise Problem("length-required", "The body's length is missing", 411, "Send Content-Length.")
    try:
        # Looked at before anything is read. It is a number: the server has parsed it already.
        if int(request.headers.get("Content-Length") or 0) > most:
            raise RequestDataTooBig
        return request.body
    except RequestDataTooBig:
        detail = f"A body here is at most {most:,} bytes."
        raise Problem("body-too-large", "The body is too large", 413, detail) from None
    except (OSError, ValueError):
        raise Problem("body-cut-short", "The body ended early", 408, "Send it again.") from None

"""Requests and responses as bytes (RFC 9292).

What is written has a known length; what is read may be in pieces, too. Names of fields are in lower case,
which the format requires. Ambiguous input is refused.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from panprivacy.formats.tls_messages import Reader
from panprivacy.protocols.oblivious_http import variable_integers

_Read = TypeVar("_Read")

Fields = tuple[tuple[bytes, bytes], ...]
"""Names, in lower case, and values."""

_REQUEST, _RESPONSE, _REQUEST_IN_PIECES, _RESPONSE_IN_PIECES = range(4)
"""Framing indicators (section 3.3)."""

_TOKEN = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_FIELD_NAME = re.compile(rb"[!#$%&'*+\-.^_`|~0-9a-z]+")
_FIELD_VALUE = re.compile(rb"[^\0\r\n]*")
_VISIBLE = re.compile(rb"[\x21-\x7e]*")
_STATUS = range(200, 600)
_INFORMATIONAL = range(100, 200)


class InvalidBinaryHttpError(ValueError):
    """Bytes that are no message of this format, or values that no message can hold."""


@dataclass(frozen=True)
class Request:
    """A request.

    Attributes:
        method: a token, e.g. `POST`.
        scheme, authority: as `https` and a host; either may be empty if the receiver knows it.
        path: with its query; visible ASCII.
        headers, trailers: in their order.
        content: any bytes.
    """

    method: bytes
    scheme: bytes
    authority: bytes
    path: bytes
    headers: Fields = ()
    content: bytes = b""
    trailers: Fields = ()

    def encode(self) -> bytes:
        """With a known length (section 3.1); InvalidBinaryHttpError if a value does not fit."""
        _check_request(self)
        # Framing indicator 0, and request control data (section 3.4).
        control = b"".join(map(_text, (self.method, self.scheme, self.authority, self.path)))
        return _number(_REQUEST) + control + _rest(self)

    @classmethod
    def decode(cls, encoded: bytes) -> "Request":
        """Inverse of `encode`, padding removed; InvalidBinaryHttpError for what is no request."""
        return _decoded(encoded, _read_request)


@dataclass(frozen=True)
class Response:
    """A final response; preceding informational ones are read and dropped.

    Attributes:
        status: 200 to 599.
        headers, content, trailers: as in `Request`.
    """

    status: int
    headers: Fields = ()
    content: bytes = b""
    trailers: Fields = ()

    def encode(self) -> bytes:
        """As in `Request`."""
        _check_response(self)
        # Framing indicator 1, and the final response control data (section 3.5).
        return _number(_RESPONSE) + _number(self.status) + _rest(self)

    @classmethod
    def decode(cls, encoded: bytes) -> "Response":
        """As in `Request`."""
        return _decoded(encoded, _read_response)


def _rest(message: Request | Response) -> bytes:
    """What follows the control data. Nothing is left out, so that messages of one shape have one length."""
    # Known-length field section, content, field section (section 3.1).
    return _fields(message.headers) + _text(message.content) + _fields(message.trailers)


def _number(value: int) -> bytes:
    return variable_integers.encode(value)


def _text(value: bytes) -> bytes:
    return _number(len(value)) + value


def _fields(fields: Fields) -> bytes:
    # Section 3.6: the section's length, then each line's name and value behind their lengths.
    return _text(b"".join(_text(name) + _text(value) for name, value in fields))


def _decoded(encoded: bytes, read: Callable[[Reader], _Read]) -> _Read:
    try:
        return read(Reader(encoded, 0, len(encoded)))
    except InvalidBinaryHttpError:
        raise
    except ValueError as error:
        raise InvalidBinaryHttpError(f"the message {error}") from None


def _read_request(reader: Reader) -> Request:
    # Section 3.3: 0 for a known length, 2 for an indeterminate one.
    framing = variable_integers.read(reader)
    if framing not in (_REQUEST, _REQUEST_IN_PIECES):
        raise InvalidBinaryHttpError(f"must be a request, not of framing {framing}")
    # Section 3.4: method, scheme, authority, path.
    method, scheme, authority, path = (_read_text(reader) for _ in range(4))
    request = Request(method, scheme, authority, path, *_read_rest(reader, framing == _REQUEST_IN_PIECES))
    _check_request(request)
    return request


def _read_response(reader: Reader) -> Response:
    # Section 3.3: 1 for a known length, 3 for an indeterminate one.
    framing = variable_integers.read(reader)
    if framing not in (_RESPONSE, _RESPONSE_IN_PIECES):
        raise InvalidBinaryHttpError(f"must be a response, not of framing {framing}")
    in_pieces = framing == _RESPONSE_IN_PIECES
    # Section 3.5.1: informational responses, each with its fields, come before the final one.
    while (status := variable_integers.read(reader)) in _INFORMATIONAL:
        _check_fields(_read_fields(reader, in_pieces))
    response = Response(status, *_read_rest(reader, in_pieces))
    _check_response(response)
    return response


def _read_rest(reader: Reader, in_pieces: bool) -> tuple[Fields, bytes, Fields]:
    """Headers, content and trailers; those that are empty may be missing at the end (section 3.8)."""
    # Sections 3.1 and 3.2: header section, content, trailer section; then padding of zeros (section 3.8).
    headers = _read_fields(reader, in_pieces) if reader.remaining else ()
    content = b""
    if reader.remaining:
        content = _read_pieces(reader) if in_pieces else _read_text(reader)
    trailers = _read_fields(reader, in_pieces) if reader.remaining else ()
    if any(reader.take(reader.remaining)):
        raise InvalidBinaryHttpError("padding must be zeros")
    return headers, content, trailers


def _read_text(reader: Reader) -> bytes:
    return reader.take(variable_integers.read(reader))


def _read_pieces(reader: Reader) -> bytes:
    # Section 3.2: chunks, ended by one of length 0.
    pieces = []
    while piece := _read_text(reader):
        pieces.append(piece)
    return b"".join(pieces)


def _read_fields(reader: Reader, in_pieces: bool) -> Fields:
    """A field section: after its length, or ended by a 0 in place of a name (sections 3.1, 3.2 and 3.6)."""
    found = []
    if in_pieces:
        while name := _read_text(reader):
            found.append((name, _read_text(reader)))
        return tuple(found)
    lines = reader.within(variable_integers.read(reader))
    while lines.remaining:
        found.append((_read_text(lines), _read_text(lines)))
    return tuple(found)


def _check_request(request: Request) -> None:
    _require(_TOKEN, request.method, "method")
    for what in ("scheme", "authority", "path"):
        _require(_VISIBLE, getattr(request, what), what)
    _check_fields(request.headers + request.trailers)


def _check_response(response: Response) -> None:
    if response.status not in _STATUS:
        raise InvalidBinaryHttpError(f"status must be 200 to 599, not {response.status}")
    _check_fields(response.headers + response.trailers)


def _check_fields(fields: Fields) -> None:
    for name, value in fields:
        _require(_FIELD_NAME, name, "the name of a field")
        _require(_FIELD_VALUE, value, "the value of a field")


def _require(pattern: re.Pattern[bytes], value: bytes, what: str) -> None:
    if not pattern.fullmatch(value):
        raise InvalidBinaryHttpError(f"{what} has bytes that are not allowed, or is empty")

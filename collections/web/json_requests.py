"""JSON objects that programs send: read strictly, whatever is sent."""

from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest

from panprivacy.formats.errors import FieldError
from web.bodies import JSON_TYPE, read_body, require_json
from web.problems import invalid_field, malformed_body
from web.strict_json import UNSTORABLE, JSONRefusedError, json_of, json_problem

LONGEST_NAME = 200
"""Most characters of a field's name."""


def read_object(request: HttpRequest, most: int, *, names: tuple[str, ...] | None = None) -> dict[str, Any]:
    """The fields of the object that a request's body holds; none if the body is empty.

    Args:
        most: bytes that the body may have.
        names: the fields that it may have; any if None.

    Raises:
        Problem: too large, not JSON, no object, or a field that is repeated or unknown.
    """
    body = read_body(request, most) if _has_json(request) else b""
    if not body.strip():
        return {}
    try:
        members = json_of(body, name_check=_require_name)
    except JSONRefusedError as error:
        raise json_problem(error, "The body must be JSON in UTF-8, nested in moderation.") from None
    if not isinstance(members, dict):
        raise malformed_body("The body must be an object.")
    if names is not None:
        for name in members:
            if name not in names:
                known = f"known are {', '.join(names)}" if names else "the body has no fields"
                raise invalid_field(FieldError(name, f"is unknown; {known}"))
    return members


def text_member(members: Mapping[str, object], name: str) -> str:
    """A field that must be there, as text. Raises FieldError, naming it."""
    if name not in members:
        raise FieldError(name, "is missing")
    value = members[name]
    if not isinstance(value, str):
        raise FieldError(name, "must be text")
    if UNSTORABLE.search(value):
        raise FieldError(name, "must be text without NUL and lone surrogates")
    return value


def _has_json(request: HttpRequest) -> bool:
    is_empty = request.headers.get("Content-Length", "0") in {"", "0"}
    if request.content_type != JSON_TYPE and is_empty and not request.headers.get("Transfer-Encoding"):
        return False
    require_json(request)
    return True


def _require_name(name: str) -> None:
    if not (1 <= len(name) <= LONGEST_NAME and name.isprintable()):
        raise malformed_body(f"Names of fields have 1 to {LONGEST_NAME} printable characters.")

"""JSON objects between installations: strict where they are read."""

import json
from typing import Any

from django.http import HttpRequest, HttpResponse

from peers.problems import dap_problem
from web.bodies import JSON_TYPE


def read_json(request: HttpRequest, body: bytes, members: set[str]) -> dict[str, str]:
    """A JSON object with exactly these members, all text.

    Raises:
        Problem: anything else.
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
        raise dap_problem("invalidMessage", f"The body must be a JSON object with the texts {names}.")
    for name, value in content.items():
        # JSON can spell both; no database takes them for text.
        if "\0" in value or any("\ud800" <= character <= "\udfff" for character in value):
            raise dap_problem("invalidMessage", f"{name}: must be text without NUL and lone surrogates.")
    return content


def json_response(content: dict[str, Any]) -> HttpResponse:
    """A JSON answer."""
    return HttpResponse(json.dumps(content), content_type=JSON_TYPE)

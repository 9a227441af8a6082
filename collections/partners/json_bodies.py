"""JSON objects between installations: parsed strictly."""

import json
from collections.abc import Set as AbstractSet
from typing import Any

from django.http import HttpRequest, HttpResponse

from partners.problems import dap_problem
from web.bodies import JSON_TYPE
from web.strict_json import UNSTORABLE, JSONRefusedError, json_of, repeated_member


def read_json(
    request: HttpRequest, body: bytes, members: set[str], *, lists: AbstractSet[str] = frozenset()
) -> dict[str, Any]:
    """A JSON object with exactly these fields, all text.

    Args:
        lists: further fields, each a list of texts.

    Raises:
        Problem: anything else.
    """
    try:
        content = json_of(body)
    except JSONRefusedError as error:
        if error.repeated is not None:
            raise dap_problem("invalidMessage", f"{repeated_member(error.repeated)}.") from None
        content = None
    if (
        request.content_type != JSON_TYPE
        or not isinstance(content, dict)
        or set(content) != members | lists
        or not all(isinstance(content[name], str) for name in members)
        or not all(isinstance(content[name], list) for name in lists)
        or not all(isinstance(value, str) for name in lists for value in content[name])
    ):
        names = ", ".join(sorted(members)) + "".join(f", and the list of texts {name}" for name in lists)
        raise dap_problem("invalidMessage", f"The body must be a JSON object with the texts {names}.")
    for name, value in content.items():
        for text in value if name in lists else [value]:
            if UNSTORABLE.search(text):
                raise dap_problem("invalidMessage", f"{name}: must be text without NUL and lone surrogates.")
    return content


def json_response(content: dict[str, Any]) -> HttpResponse:
    """A JSON answer."""
    return HttpResponse(json.dumps(content), content_type=JSON_TYPE)

"""Reading a list's query string, and cutting it into pages by key: for people, and for the API."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from django.core.exceptions import BadRequest
from django.db.models import Model, QuerySet
from django.http import HttpRequest, QueryDict

from web.problems import invalid_parameter

TEXT_LENGTH = 200

M = TypeVar("M", bound=Model)


def text_of(query: QueryDict, name: str) -> str:
    """A text from the query string: trimmed, cut, without control characters (PostgreSQL refuses NUL)."""
    value = query.get(name, "")
    return "".join(character for character in value if character.isprintable()).strip()[:TEXT_LENGTH]


@dataclass(frozen=True)
class Page(Generic[M]):
    """One page of a list.

    Attributes:
        rows: what it shows.
        older: query string of the next page; empty on the last.
        newest: query string of the first page; empty on the first.
    """

    rows: Sequence[M]
    older: str
    newest: str


def page_of(rows: QuerySet[M], request: HttpRequest, size: int) -> Page[M]:
    """The `size` of `rows`, newest first, after the request's `before`; the filters stay in the address.

    Raises:
        BadRequest: `before` did not come from a page's own link.
    """
    first = request.GET.copy()
    started_at = first.pop("before", None)
    try:
        found, older = _cut(rows, request.GET if request.GET.get("before") else first, "before", size)
    except ValueError:
        raise BadRequest("`before` must be taken from the link to the next page.") from None
    return Page(found, f"?{older}" if older else "", f"?{first.urlencode()}" if started_at else "")


def api_results(
    rows: QuerySet[M], request: HttpRequest, size: int, shown: Callable[[M], object]
) -> dict[str, Any]:
    """A page of a list as the API answers it: `next` and `results`, by `api_page`.

    Args:
        shown: gives a row as plain JSON values.
    """
    found, following = api_page(rows, request, size)
    return {"next": following, "results": [shown(row) for row in found]}


def api_page(rows: QuerySet[M], request: HttpRequest, size: int) -> tuple[list[M], str | None]:
    """The `size` of `rows`, newest first, that the request's `cursor` asks for, and the next page's address.

    Raises:
        Problem: `cursor` did not come from such an address.
    """
    try:
        found, following = _cut(rows, request.GET, "cursor", size)
    except ValueError:
        detail = "cursor must be taken from the `next` of the page before."
        raise invalid_parameter("cursor", detail) from None
    return found, f"{request.path}?{following}" if following else None


def _cut(rows: QuerySet[M], query: QueryDict, name: str, size: int) -> tuple[list[M], str]:
    """The rows after the key that is called `name` in the query, and the query of those after them."""
    key = query.get(name)
    if key is not None:
        if not (key.isascii() and key.isdigit() and len(key) < 16):
            raise ValueError(name)
        rows = rows.filter(pk__lt=int(key))
    found = list(rows[: size + 1])
    if len(found) <= size:
        return found, ""
    following = query.copy()
    following[name] = str(found[size - 1].pk)
    return found[:size], following.urlencode()

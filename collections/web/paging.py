"""Reading a list page's query string, and cutting a list into pages by key.

Nothing in it is about the log. It is here because the log's pages need it as those of the
releases do, and no app lies below this one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from django.core.exceptions import BadRequest
from django.db.models import Model, QuerySet
from django.http import HttpRequest, QueryDict

TEXT_LENGTH = 200

M = TypeVar("M", bound=Model)


def text_of(query: QueryDict, name: str) -> str:
    """A text from the query string: trimmed, cut, without control characters (PostgreSQL refuses NUL)."""
    value = query.get(name, "")
    return "".join(character for character in value if character.isprintable()).strip()[:TEXT_LENGTH]


def cursor_of(query: QueryDict) -> int | None:
    """The key after which the page begins; BadRequest unless it came from a page's own link."""
    value = query.get("before", "")
    if not value:
        return None
    if not (value.isascii() and value.isdigit() and len(value) < 16):
        raise BadRequest("`before` must be taken from the link to the next page.")
    return int(value)


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
    """The first `size` rows and the links to the others; the filters stay in the address."""
    found = list(rows[: size + 1])
    query = request.GET.copy()
    started_at = query.pop("before", None)
    newest = f"?{query.urlencode()}" if started_at else ""
    older = ""
    if len(found) > size:
        query["before"] = str(found[size - 1].pk)
        older = f"?{query.urlencode()}"
    return Page(found[:size], older, newest)

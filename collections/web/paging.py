"""Reading a list's query string, and cutting it into pages: by key for people and the API, or by number for
lists that people sort."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from django.core.exceptions import BadRequest
from django.core.paginator import Paginator
from django.db.models import Model, QuerySet
from django.http import HttpRequest, QueryDict
from rest_framework.serializers import BaseSerializer

from web.problems import invalid_parameter

TEXT_LENGTH = 200
API_PAGE_SIZE = 100

M = TypeVar("M", bound=Model)

Fits = Callable[[Sequence[M]], int]


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


def page_of(rows: QuerySet[M], request: HttpRequest, size: int, *, fits: Fits[M] | None = None) -> Page[M]:
    """The `size` of `rows`, newest first, after the request's `before`; the filters stay in the address.

    Args:
        fits: how many of the rows it is given, from the first, are enough for a page; at least one is shown.

    Raises:
        BadRequest: `before` did not come from a page's own link.
    """
    first = request.GET.copy()
    started_at = first.pop("before", None)
    try:
        found, older = _cut(rows, request.GET if request.GET.get("before") else first, "before", size, fits)
    except ValueError:
        raise BadRequest("`before` must be taken from the link to the next page.") from None
    return Page(found, f"?{older}" if older else "", f"?{first.urlencode()}" if started_at else "")


@dataclass(frozen=True)
class NumberedPage(Generic[M]):
    """One page of a list that has any order.

    Attributes:
        rows: what it shows.
        number: of this page, from 1.
        total: rows of all pages.
        links: number of a page that can be gone to, and its query string; both empty for pages left out.
    """

    rows: Sequence[M]
    number: int
    total: int
    links: Sequence[tuple[str, str]]


def numbered_page_of(rows: QuerySet[M], request: HttpRequest, size: int) -> NumberedPage[M]:
    """The page of `rows` with the number in the request's `page`, or the last if there are fewer; the filters
    stay in the address.

    Raises:
        BadRequest: `page` is no number of a page.
    """
    asked = request.GET.get("page") or "1"
    if not (asked.isascii() and asked.isdigit() and len(asked) < 10 and int(asked)):
        raise BadRequest("`page` must be the number of a page, from 1.")
    page = Paginator(rows, size).get_page(asked)
    shown = page.paginator.get_elided_page_range(page.number, on_each_side=2, on_ends=1)
    # Left out, the pages between are no link.
    links = [
        (str(each), query_with(request.GET, page=str(each))) if isinstance(each, int) else ("", "")
        for each in shown
    ]
    return NumberedPage(list(page.object_list), page.number, page.paginator.count, links)


def query_with(query: QueryDict, **changes: str) -> str:
    """A query string, from its question mark on, with these parameters changed and without empty ones."""
    changed = query.copy()
    for name, value in changes.items():
        changed[name] = value
    kept = QueryDict(mutable=True)
    for name, values in changed.lists():
        kept.setlist(name, [value for value in values if value])
    return f"?{kept.urlencode()}"


def api_results(
    rows: QuerySet[M], request: HttpRequest, shown: type[BaseSerializer[Any]], size: int = API_PAGE_SIZE
) -> dict[str, Any]:
    """A page of a list as the API answers it, described by `serializers.paged`.

    Args:
        shown: renders a row.
    """
    found, following = api_page(rows, request, size)
    return {"next": following, "results": shown(found, many=True).data}


def api_page(rows: QuerySet[M], request: HttpRequest, size: int) -> tuple[list[M], str | None]:
    """The `size` of `rows`, newest first, that the request's `cursor` asks for, and the next page's address.

    Raises:
        Problem: `cursor` did not come from such an address.
    """
    return api_cut(rows, request.GET, size, path=request.path)


def api_cut(
    rows: QuerySet[M], query: QueryDict, size: int, *, path: str, fits: Fits[M] | None = None
) -> tuple[list[M], str | None]:
    """The same as `api_page`, for an answer that is not at the address of the list.

    Args:
        path: of the list.
        fits: as of `page_of`.
    """
    try:
        found, following = _cut(rows, query, "cursor", size, fits)
    except ValueError:
        detail = "cursor must be taken from the `next` of the page before."
        raise invalid_parameter("cursor", detail) from None
    return found, f"{path}?{following}" if following else None


def _cut(
    rows: QuerySet[M], query: QueryDict, name: str, size: int, fits: Fits[M] | None = None
) -> tuple[list[M], str]:
    """The rows after the key that is called `name` in the query, and the query of those after them."""
    key = query.get(name)
    if key is not None:
        if not (key.isascii() and key.isdigit() and len(key) < 16):
            raise ValueError(name)
        rows = rows.filter(pk__lt=int(key))
    found = list(rows[: size + 1])
    if fits is not None:
        size = min(size, max(1, fits(found)))
    if len(found) <= size:
        return found, ""
    following = query.copy()
    following[name] = str(found[size - 1].pk)
    return found[:size], following.urlencode()

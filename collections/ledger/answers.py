"""The numbers of books, as workers compute them."""

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import structlog

from ledger.books import Book
from ledger.composition import Composition, Event, UnreadableEventError, composed_epsilon, composed_epsilon_of
from ledger.models import Spending
from panprivacy.planning.value_search import Values
from storage.answers.kinds import Content, Lane, declared
from storage.columns import stored

T = TypeVar("T")

LIKE_THE_LAST = 1_000
"""Up to how many more recipes like the last one are counted."""

LINES_TOGETHER = 10
"""Lines whose numbers are stored at a time."""

logger = structlog.get_logger(__name__)


def _answer_balance(asked: Any) -> Iterator[Content]:
    """What `selectors.Balance` shows of a book. Numbers that need an event of another version are None."""
    book = Book.from_mapping(asked)
    use = _readable(lambda: book.use)
    found: dict[str, Any] = {
        "readable": book.readable,
        "spent": _readable(lambda: book.spent),
        "use": None if use is None else [use.share, use.failing],
    }
    yield found
    half = _readable(lambda: composed_epsilon(book.events_if_half_colludes, book.delta))
    found |= {"spent_if_half_colludes": half}
    yield found
    yield found | {"more_like_the_last": _readable(lambda: _more_like_the_last(book))}


BALANCE = declared("balance", _answer_balance, Lane.PLANS, urgent=False)


def _answer_lines(asked: Any) -> Iterator[Content]:
    """Of lines of one book, by primary key: ε of all recipes together after the line, and of its own alone.

    Args:
        asked: population, delta, and the primary keys `lines`, the most wanted first.
    """
    wanted, delta = asked["lines"], asked["delta"]
    spent: dict[int, Event] = {}
    own: dict[int, Event] = {}
    after: dict[int, Composition] = {}
    unreturned = Composition()
    book = Spending.objects.filter(population=asked["population"], pk__lte=max(wanted)).order_by("pk")
    for pk, returns, event in book.values_list("pk", "returns", "event"):
        if returns is None:
            spent[pk] = stored(event)
            unreturned.add(spent[pk])
        else:
            unreturned.remove(spent[returns])
        if pk in wanted:
            after[pk], own[pk] = unreturned.copy(), spent[returns or pk]
    numbers: dict[str, Any] = {}
    for number, pk in enumerate(wanted, start=1):
        composed = _readable(lambda pk=pk: composed_epsilon_of(after[pk], delta))  # type: ignore[misc]
        alone = _readable(lambda pk=pk: composed_epsilon([own[pk]], delta))  # type: ignore[misc]
        numbers[str(pk)] = [composed, alone]
        if number % LINES_TOGETHER == 0 or number == len(wanted):
            yield numbers


LINES = declared("lines", _answer_lines, Lane.PLANS, urgent=False)


def _answer_costs(asked: Any) -> Iterator[Content]:
    """ε of spendings alone, by primary key: of each at its δ, as pairs in `spendings`."""
    rows = Spending.objects.in_bulk([pk for pk, _ in asked["spendings"]])
    yield {
        str(pk): _readable(lambda pk=pk, delta=delta: composed_epsilon([stored(rows[pk].event)], delta))  # type: ignore[misc]
        for pk, delta in asked["spendings"]
    }


COSTS = declared("costs", _answer_costs, Lane.PLANS, urgent=False)


def _answer_together(asked: Any) -> Iterator[Content]:
    """ε of some spendings of one book together, by their primary keys `spendings`, at `delta`."""
    rows = Spending.objects.filter(pk__in=asked["spendings"]).values_list("event", flat=True)
    events = [stored(event) for event in rows]
    yield {"epsilon": _readable(lambda: composed_epsilon(events, asked["delta"]))}


TOGETHER = declared("together", _answer_together, Lane.PLANS, urgent=False)


def _more_like_the_last(book: Book) -> int | None:
    """None without a budget, or if nothing is spent."""
    if book.budget is None or not book.events:
        return None
    numbers, last = Values.of(1, LIKE_THE_LAST), book.events[-1]
    beyond = numbers.nearest(
        lambda more: not book.fits(last, int(more)),
        since=-1,
        until=numbers.length - 1,
        outwards=True,
    )
    return LIKE_THE_LAST if beyond is None else int(numbers.value(beyond)) - 1


def _readable(compute: Callable[[], T]) -> T | None:
    """None, and a line of the log, if another version wrote an event."""
    try:
        return compute()
    except UnreadableEventError as error:
        logger.error("stored_event_unreadable", reason=str(error))
        return None

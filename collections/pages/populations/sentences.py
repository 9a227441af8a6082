"""What a privacy event is, and what a budget still lets through, in words."""

import dataclasses

from ledger.answers import LIKE_THE_LAST
from ledger.composition import Event
from ledger.selectors import UNREADABLE, Balance
from panprivacy.accounting.composition import Repetition
from panprivacy.accounting.interface import PrivacyEvent
from panprivacy.accounting.registry import event_from_mapping
from panprivacy.formats.display import sentence
from panprivacy.formats.errors import FieldError
from panprivacy.formats.parameters import description_of
from web.numbers import number


def event_in_words(event: Event) -> str:
    """The event's kind and every field: "Randomized response with devices (n) = 10,000 and … = 1."."""
    try:
        said = _in_words(event_from_mapping(event))
    except FieldError:
        return UNREADABLE
    return sentence(said)


def _in_words(event: PrivacyEvent) -> str:
    if isinstance(event, Repetition):
        return f"{number(event.times)} times {_in_words(event.event)}"
    *first, last = [
        f"{_uncapitalized(description_of(field).label)} = {_plain(getattr(event, field.name))}"
        for field in dataclasses.fields(event)
    ] or ["no parameters"]
    members = f"{', '.join(first)} and {last}" if first else last
    return f"{event.kind.replace('_', ' ')} with {members}"


def _plain(value: object) -> str:
    if isinstance(value, PrivacyEvent):
        return f"({_in_words(value)})"
    return number(float(f"{value:.6g}") if isinstance(value, float) else value)


def _uncapitalized(label: str) -> str:
    return label[:1].lower() + label[1:]


def left_sentence(balance: Balance) -> str:
    """What can still be published, or why that is not shown."""
    if not balance.events:
        return "Nothing is spent yet."
    if not balance.readable:
        unknown = "Another version of this software wrote an event of the ledger, so what is spent is unknown"
        return f"{unknown} and nothing can be published." if balance.budget else f"{unknown}."
    if balance.budget is None:
        return "No budget is set: spending is recorded, nothing is refused."
    if balance.overspent:
        return "More is spent than the budget: nothing can be published."
    return _more_sentence(balance.more_like_the_last)


def _more_sentence(more: int | None) -> str:
    if more is None:
        return "How many more recipes fit is not computed yet."
    if more == 0:
        return "No more recipes like the last one fit."
    if more == 1:
        return "About 1 recipe like the last one is left."
    if more == LIKE_THE_LAST:
        return f"At least {number(more)} recipes like the last one are left."
    return f"About {number(more)} recipes like the last one are left."

"""What a privacy event is, in words."""

import dataclasses

from ledger.composed import Event
from ledger.selectors import UNREADABLE
from panprivacy.accounting.composition import Repeated
from panprivacy.accounting.interface import PrivacyEvent
from panprivacy.accounting.registry import event_from_mapping
from panprivacy.errors import FieldError
from panprivacy.parameters import description_of
from web.numbers import number


def event_in_words(event: Event) -> str:
    """The event's kind and every field: "Randomized response with devices (n) = 10,000 and … = 1."."""
    try:
        said = _in_words(event_from_mapping(event))
    except FieldError:
        return UNREADABLE
    return f"{said[:1].upper()}{said[1:]}."


def _in_words(event: PrivacyEvent) -> str:
    if isinstance(event, Repeated):
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

"""The form that edits a dashboard, read without a script: every button sends all of it."""

import re
from dataclasses import dataclass

from django.http import QueryDict

from pages.dashboards.content import FIELDS, MOST_CARDS
from panprivacy.formats.errors import FieldError

_ADDRESS = re.compile(r"(?:.*/recipes/)?([0-9a-f]{64})(?:/.*)?|(?:.*/series/)?([0-9a-f]{16})(?:/.*)?")
"""Of a result or a series, or its identifier."""


@dataclass
class Typed:
    """What was typed: the whole dashboard, and the version that it was made from."""

    title: str
    public: bool
    cards: list[dict[str, str]]
    version: str


def typed_dashboard(post: QueryDict) -> Typed:
    """The fields of the form; what they hold is checked when it is saved."""
    cards = []
    # One too many is refused with all others.
    for place in range(MOST_CARDS + 1):
        kind = post.get(f"card-{place}-type", "")
        if kind not in FIELDS:
            break
        own = {name: post.get(f"card-{place}-{name}", "") for name in FIELDS[kind]}
        cards.append({"type": kind, **own})
    return Typed(post.get("title", ""), "public" in post, cards, post.get("version", ""))


def card_named(address: str) -> dict[str, str]:
    """The card of the result or series with this address or identifier. Raises FieldError."""
    match = _ADDRESS.fullmatch(address.strip())
    if match is None:
        raise FieldError("address", "must be the address of a result or a series on this site")
    recipe, series = match.groups()
    return {"type": "result", "recipe": recipe} if recipe else {"type": "series", "series": series}


def apply_action(typed: Typed, action: str, address: str) -> int:
    """Do what the button says: add, move or remove a card, or nothing. Returns the place of the card that it
    was about; -1 if there is none.

    Raises:
        FieldError: there is no result or series with that address.
    """
    if action in ("add", "add-text"):
        typed.cards.append(card_named(address) if action == "add" else {"type": "text", "text": ""})
        return len(typed.cards) - 1
    name, _, number = action.partition("-")
    place = int(number) if number.isdecimal() and len(number) < 4 else len(typed.cards)
    if place >= len(typed.cards) or name not in ("up", "down", "remove"):
        return -1
    card = typed.cards.pop(place)
    if name == "remove":
        return -1
    place = max(0, place - 1) if name == "up" else place + 1
    typed.cards.insert(place, card)
    return min(place, len(typed.cards) - 1)

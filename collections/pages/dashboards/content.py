"""What a dashboard holds: a title and cards, from wherever they come."""

from collections.abc import Mapping
from typing import Any

from pages.dashboards.access import Reader, readable_recipes
from pages.dashboards.models import TITLE_LENGTH
from panprivacy.formats.display import as_typed
from panprivacy.formats.errors import FieldError
from series.selectors import series_visible_to
from web.strict_json import CONTROLS

MOST_CARDS = 50

TEXT_LENGTH = 5_000

FIELDS = {"result": ("recipe", "title"), "series": ("series", "title"), "text": ("text",)}
"""Type of a card → its fields besides `type`. A title may be left out."""

Card = dict[str, str]


def checked_title(title: object) -> str:
    """A title, trimmed. Raises FieldError named `title`."""
    text = _text("title", title, TITLE_LENGTH)
    if not text:
        raise FieldError("title", f"must have 1 to {TITLE_LENGTH} characters")
    return text


def checked_cards(cards: object, author: Reader) -> list[Card]:
    """Cards as they are stored, in their order.

    Args:
        author: who puts them there.

    Raises:
        FieldError: named `cards`, or as `cards[2].text`: there are too many, one is no card, a text is too
            long, or the author finds no published recipe or series with that identifier on the site.
    """
    if not isinstance(cards, list):
        raise FieldError("cards", f"must be a list of at most {MOST_CARDS} cards, not {as_typed(cards)}")
    if len(cards) > MOST_CARDS:
        raise FieldError("cards", f"must be at most {MOST_CARDS}, not {len(cards):,}")
    checked = [_card(f"cards[{place}]", card) for place, card in enumerate(cards)]
    for name, rows in (("recipe", readable_recipes(author)), ("series", series_visible_to(author))):
        asked = {card[name] for card in checked if name in card}
        known = (
            set(rows.filter(identifier__in=asked).values_list("identifier", flat=True)) if asked else set()
        )
        for place, card in enumerate(checked):
            if name in card and card[name] not in known:
                raise FieldError(f"cards[{place}].{name}", "must be the identifier of one on this site")
    return checked


def _card(place: str, card: object) -> Card:
    if not isinstance(card, Mapping):
        raise FieldError(place, f"must be an object, not {as_typed(card)}")
    kind = card.get("type")
    if not isinstance(kind, str) or kind not in FIELDS:
        raise FieldError(f"{place}.type", f"must be one of {', '.join(FIELDS)}, not {as_typed(kind)}")
    for name in card:
        if name not in ("type", *FIELDS[kind]):
            raise FieldError(place, f"has no field {as_typed(name)}; a {kind} has {', '.join(FIELDS[kind])}")
    checked = {"type": kind}
    for name in FIELDS[kind]:
        if name not in card and name != "title":
            raise FieldError(f"{place}.{name}", "is missing")
        most = TEXT_LENGTH if name == "text" else TITLE_LENGTH
        checked[name] = _text(f"{place}.{name}", card.get(name, ""), most)
    return checked


def _text(name: str, value: Any, most: int) -> str:
    if not isinstance(value, str):
        raise FieldError(name, f"must be text, not {as_typed(value)}")
    text = value.replace("\r\n", "\n").strip()
    # Lines and tabs are for texts alone.
    one_line = text.replace("\n", "").replace("\t", "") if name.endswith(".text") else text
    if CONTROLS.search(one_line):
        raise FieldError(name, "must have no control characters")
    if len(text) > most:
        raise FieldError(name, f"must have at most {most:,} characters, not {len(text):,}")
    return text

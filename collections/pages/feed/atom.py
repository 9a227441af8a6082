"""What happened as an Atom document (RFC 4287). Entries keep their names, wherever the site moves."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from xml.etree import ElementTree as ET

NAMESPACE = "http://www.w3.org/2005/Atom"
_NAMES = uuid.UUID("3c4b2f5e-8f0c-4a52-9d39-5b6f0f0c9a11")
"""Our own, so that our names are unique (RFC 9562, version 5)."""


@dataclass(frozen=True)
class FeedEntry:
    """One thing that happened: `name` identifies it for good among all others of its type, `page` and
    `picture` (empty for none) are whole addresses."""

    name: str
    title: str
    text: str
    at: datetime
    page: str
    picture: str = ""
    kind: str = "result"


def atom_document(
    *, name: str, title: str, own: str, home: str, entries: Sequence[FeedEntry], begun: datetime
) -> bytes:
    """The feed in UTF-8.

    Args:
        name: what the feed is of; another one has another name.
        own, home: addresses of the feed, and of the page of the same content.
        entries: newest first.
        begun: when the feed is taken to have changed last if it has no entry.
    """
    ET.register_namespace("", NAMESPACE)
    feed = ET.Element(_tag("feed"))
    _add(feed, "id", _identifier(f"feed {name}"))
    _add(feed, "title", title)
    _add(feed, "updated", _time(max((entry.at for entry in entries), default=begun)))
    _add(ET.SubElement(feed, _tag("author")), "name", "Private telemetry")
    _add(feed, "link", rel="self", href=own, type="application/atom+xml")
    _add(feed, "link", rel="alternate", href=home, type="text/html")
    for each in entries:
        entry = ET.SubElement(feed, _tag("entry"))
        _add(entry, "id", _identifier(f"{each.kind} {each.name}"))
        _add(entry, "title", each.title)
        _add(entry, "updated", _time(each.at))
        _add(entry, "published", _time(each.at))
        _add(entry, "link", rel="alternate", href=each.page, type="text/html")
        if each.picture:
            _add(entry, "link", rel="enclosure", href=each.picture, type="image/svg+xml")
        _add(entry, "summary", each.text)
    document: bytes = ET.tostring(feed, encoding="utf-8", xml_declaration=True)
    return document


def _add(parent: ET.Element, name: str, text: str = "", **attributes: str) -> None:
    ET.SubElement(parent, _tag(name), attributes).text = _allowed(text) or None


def _allowed(text: str) -> str:
    """Without what no XML can hold, escaped or not (XML 1.0, production 2)."""
    return "".join(
        each if each >= " " and not "\ud800" <= each <= "\udfff" and each not in "\ufffe\uffff" else " "
        for each in text
    )


def _identifier(name: str) -> str:
    return uuid.uuid5(_NAMES, name).urn


def _time(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")


def _tag(name: str) -> str:
    return f"{{{NAMESPACE}}}{name}"

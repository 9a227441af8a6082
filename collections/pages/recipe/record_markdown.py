"""A record of processing as Markdown (CommonMark, with the tables of GitHub)."""

import re
from collections.abc import Iterable, Iterator

from pages.recipe.record import Record, Section
from pages.words.given import Copied, Given, Text, pieces

_OWN = re.compile(r"[\\`*_|\[\]]")
_GIVEN = re.compile(r"[\\`*_|\[\]~$#!@]|:(?=\S)|\.(?=[^\s\d])|(?<!\d)\.(?=\d)")
"""Marks of Markdown; of given texts also those that make links of addresses: a decimal point does not."""

_AS_CODE = re.compile(r"[^`|\\<>&$]+")
"""What nothing is escaped in, as nothing in it ends a piece of code, or the cell of a table."""

_ENTITIES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})

_ISOLATE, _END = "\u2068", "\u2069"
"""Around a text of unknown direction (Unicode's first strong isolate)."""


def record_markdown(record: Record) -> str:
    """The record as Markdown, which ends with a line break."""
    blocks = [f"# {_inline(record.title)}", *map(_inline, record.paragraphs)]
    for section in record.sections:
        blocks += _section(section)
    return "\n\n".join(blocks) + "\n"


def _section(section: Section) -> Iterator[str]:
    yield f"## {section.title}"
    yield from map(_inline, section.paragraphs)
    if section.rows:
        yield "\n".join(_table(section))
    if section.items:
        yield "\n".join(f"- {_inline(item)}" for item in section.items)


def _table(section: Section) -> Iterator[str]:
    yield _row(section.columns)
    yield _row("---" for _ in section.columns)
    for row in section.rows:
        yield _row(map(_inline, row))


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _inline(text: Text) -> str:
    return "".join(map(_piece, pieces(text)))


def _piece(piece: str) -> str:
    if not isinstance(piece, Given):
        return _OWN.sub(r"\\\g<0>", piece.translate(_ENTITIES))
    if isinstance(piece, Copied) and _AS_CODE.fullmatch(piece):
        escaped = f"`{piece}`"
    else:
        escaped = _GIVEN.sub(r"\\\g<0>", piece.translate(_ENTITIES))
    return escaped if piece.isascii() else f"{_ISOLATE}{escaped}{_END}"

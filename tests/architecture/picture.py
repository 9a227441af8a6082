"""The picture of the rooms in docs/architecture.md, made from imports and docstrings: `make architecture`.

Run as `python -m tests.architecture.picture [--check]` at the root. With `--check` it writes nothing, and
fails where the document shows other rooms, imports or docstrings. How many lines a room has changes with
almost every commit: those numbers are as of the last writing.
"""

import ast
import difflib
import re
import sys
from collections.abc import Iterable, Mapping
from configparser import ConfigParser
from pathlib import Path
from textwrap import fill

from grimp import build_graph

from tests.architecture.sources import file_of, init_of, is_migration
from tests.made_part import with_part

ROOT = Path(__file__).resolve().parent.parent.parent
DOCUMENT = ROOT / "docs" / "architecture.md"
TARGET = "architecture"
WIDTH = 110
SIZE, WRAPPED = re.compile(r"[\d,]+ lines"), re.compile(r"\n {2}(?=\S)")

ALONE = {
    "Wiring": ("panapp",),
    "Pages": ("pages",),
    "Domain": (),
    "Between installations, and the log": ("public_log", "peers", "audit"),
    "Ground": ("web", "storage"),
    "Mathematics": ("panprivacy",),
    "Devices": ("devices_sim",),
    "Papers": ("research",),
}
"""Floors, from above, and their rooms; the domain has all others."""

Imports = Mapping[str, frozenset[str]]
"""Room → rooms that it imports."""


def rooms_of(settings: Path) -> list[str]:
    """Every room, from above, as the layers of `.importlinter` have them."""
    parser = ConfigParser()
    parser.read(settings)
    return parser["importlinter:contract:floors"]["layers"].replace("|", " ").split()


def floors_of(rooms: Iterable[str]) -> dict[str, list[str]]:
    """Floor → its rooms, from above."""
    floor_of = {room: floor for floor, alone in ALONE.items() for room in alone}
    floors: dict[str, list[str]] = {floor: [] for floor in ALONE}
    for room in rooms:
        floors[floor_of.get(room, "Domain")].append(room)
    return floors


def imports_of(rooms: list[str]) -> Imports:
    """Who imports whom, without migrations."""
    graph = build_graph(*rooms, cache_dir=None)
    found: dict[str, set[str]] = {room: set() for room in rooms}
    for module in graph.modules:
        room = module.split(".")[0]
        if not is_migration(module):
            found[room] |= {name.split(".")[0] for name in graph.find_modules_directly_imported_by(module)}
    return {room: frozenset(imported - {room}) for room, imported in found.items()}


def reduced(imports: Imports) -> Imports:
    """The imports without those that others imply: a → c where a → b → c. Of rooms without circles."""

    def below(room: str) -> frozenset[str]:
        return imports[room].union(*(below(lower) for lower in imports[room]))

    return {room: lower.difference(*(below(other) for other in lower)) for room, lower in imports.items()}


def lines_of(room: str) -> int:
    """Lines of Python in the room, migrations included."""
    return sum(len(place.read_text().splitlines()) for place in file_of(room).parent.rglob("*.py"))


def described(room: str, imports: Imports, rooms: list[str]) -> str:
    """One entry of the list: what the room is for and must not know, and whom it imports."""
    said = (ast.get_docstring(init_of(room)) or "").split("\n\n")
    barred = " ".join(part for part in said if part.startswith("It must not "))
    named = ", ".join(f"`{lower}`" for lower in rooms if lower in imports[room])
    text = f"- **`{room}`** ({lines_of(room):,} lines): {said[0]} {barred} Imports {named or 'no other'}."
    return fill(
        " ".join(text.split()), WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
    )


def picture() -> str:
    """What stands between the marks: a Mermaid diagram, and the list of rooms by floor."""
    rooms = rooms_of(ROOT / ".importlinter")
    imports, floors = imports_of(rooms), floors_of(rooms)
    arrows = reduced(imports)
    diagram = ["```mermaid", "flowchart TB"]
    for number, (floor, members) in enumerate(floors.items()):
        diagram.append(f'    subgraph floor{number}["{floor}"]')
        diagram += [f'        {room}["{room}<br>{lines_of(room):,} lines"]' for room in members]
        diagram.append("    end")
    diagram += [f"    {room} --> {lower}" for room in rooms for lower in rooms if lower in arrows[room]]
    parts = ["\n".join([*diagram, "```"])]
    for floor, members in floors.items():
        parts.append(f"### {floor}\n\n" + "\n".join(described(room, imports, rooms) for room in members))
    return "\n\n".join(parts)


def difference(document: str, drawing: str) -> list[str]:
    """Where the document shows something else than the drawing, but for numbers of lines."""
    # A longer number can wrap an entry elsewhere.
    old, new = (
        SIZE.sub("… lines", WRAPPED.sub(" ", text)).splitlines()
        for text in (document, with_part(document, TARGET, drawing))
    )
    return list(difflib.unified_diff(old, new, "docs/architecture.md", "the imports", lineterm=""))


def main(arguments: list[str]) -> int:
    """Write the picture, or check it; the exit code."""
    document = DOCUMENT.read_text()
    if "--check" not in arguments:
        DOCUMENT.write_text(with_part(document, TARGET, picture()))
        return 0
    found = difference(document, picture())
    if found:
        help_text = (
            "docs/architecture.md shows other imports: run 'make architecture' and read the difference"
        )
        print(*found, help_text, sep="\n", file=sys.stderr)  # noqa: T201  # a command
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

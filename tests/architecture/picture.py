"""The floors and the rooms as docs show them, made from layers, imports and docstrings: `make architecture`.

Run as `python -m tests.architecture.picture [--check]` at the root. With `--check` it writes nothing, and
fails where a document shows other floors, rooms, imports or docstrings. How many lines a room has changes
with almost every commit: those numbers are as of the last writing.
"""

import ast
import difflib
import re
import sys
from collections.abc import Callable, Mapping
from configparser import ConfigParser
from dataclasses import dataclass
from pathlib import Path
from textwrap import fill

from grimp import build_graph

import panapp  # noqa: F401  # puts the apps on the import path, where packages are looked for
from tests.architecture.sources import file_of, init_of, is_migration
from tests.made_part import with_part
from tests.tables import table

ROOT = Path(__file__).resolve().parent.parent.parent
TARGET = "architecture"
WIDTH = 110
SIZE, WRAPPED = re.compile(r"[\d,]+ lines"), re.compile(r"\n {2}(?=\S)")

BESIDE = {"Devices": "devices_sim", "Papers": "research"}
"""What stands beside the floors, wherever its layer is."""

Imports = Mapping[str, frozenset[str]]
"""Room → rooms that it imports."""


def rooms_of(settings: Path) -> list[str]:
    """Every room, from above, as the layers of `.importlinter` have them."""
    parser = ConfigParser()
    parser.read(settings)
    return parser["importlinter:contract:floors"]["layers"].replace("|", " ").split()


@dataclass(frozen=True)
class Floor:
    """Layers of `.importlinter` between two comments there."""

    name: str
    holds: str
    layers: list[list[str]]
    """From above; rooms of one layer know nothing of each other."""


def floors_of(settings: str) -> list[Floor]:
    """The floors, from above, without what stands beside them. Raises ValueError for a layer on none."""
    listed = settings.partition("\nlayers =\n")[2].partition("\n\n")[0]
    floors: list[Floor] = []
    for said, layers in re.findall(r"((?:^ +#.*\n)*)((?:^ +[^#\s].*\n?)+)", listed, re.MULTILINE):
        name, colon, holds = " ".join(re.sub(r"^ +# ", "", said, flags=re.MULTILINE).split()).partition(": ")
        if not colon:
            raise ValueError(f"a comment '# FLOOR: what it holds' must stand above {layers.split()[0]}")
        rooms = [line.split(" | ") for line in layers.split("\n")]
        kept = [
            [room.strip() for room in line if room.strip() not in ("", *BESIDE.values())] for line in rooms
        ]
        floors.append(Floor(name, holds, [layer for layer in kept if layer]))
    return floors


def storeys() -> str:
    """The floors as a table."""
    return table(
        ("floor", "rooms", "what they hold"),
        (
            (
                floor.name,
                " > ".join(", ".join(f"`{room}`" for room in layer) for layer in floor.layers),
                floor.holds,
            )
            for floor in floors_of((ROOT / ".importlinter").read_text())
        ),
    )


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
    imports = imports_of(rooms)
    floors = {
        floor.name: [room for layer in floor.layers for room in layer]
        for floor in floors_of((ROOT / ".importlinter").read_text())
    } | {name: [room] for name, room in BESIDE.items()}
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


PARTS: Mapping[tuple[str, str], Callable[[], str]] = {
    ("docs/architecture.md", ""): picture,
    ("docs/architecture.md", "floors"): storeys,
    ("CONTRIBUTING.md", "floors"): storeys,
}
"""Document, name of a part → what makes it."""


def difference(document: str, drawing: str, name: str = "") -> list[str]:
    """Where the document shows something else than the drawing, but for numbers of lines."""
    # A longer number can wrap an entry elsewhere.
    old, new = (
        SIZE.sub("… lines", WRAPPED.sub(" ", text)).splitlines()
        for text in (document, with_part(document, TARGET, drawing, name))
    )
    return list(difflib.unified_diff(old, new, "the document", "the imports", lineterm=""))


def main(arguments: list[str]) -> int:
    """Write the parts, or check them; the exit code."""
    found = []
    for (place, name), made in PARTS.items():
        document = (ROOT / place).read_text()
        if "--check" in arguments:
            found += difference(document, made(), name)
        else:
            (ROOT / place).write_text(with_part(document, TARGET, made(), name))
    if found:
        help_text = "The docs show other imports: run 'make architecture' and read the difference"
        print(*found, help_text, sep="\n", file=sys.stderr)  # noqa: T201  # a command
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

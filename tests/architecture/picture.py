"""The layers and packages that the docs show, made from `.importlinter` and docstrings: `make architecture`.

Run as `python -m tests.architecture.picture [--check]` at the root. With `--check` it writes nothing, and
fails if a document shows other layers, packages or docstrings.
"""

import ast
import difflib
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from textwrap import fill

import panapp  # noqa: F401  # puts the apps on the import path
from tests.architecture.sources import init_of
from tests.made_part import with_part
from tests.tables import table

ROOT = Path(__file__).resolve().parent.parent.parent
TARGET = "architecture"
WIDTH = 110
WRAPPED = re.compile(r"\n {2}(?=\S)")

OUTSIDE = {"Devices": "devices_sim", "Papers": "research"}
"""What the docs show outside the layers."""


@dataclass(frozen=True)
class Layer:
    """Lines of `.importlinter` between two comments there."""

    name: str
    holds: str
    lines: list[list[str]]
    """From above; packages of one line do not import each other."""


def layers_of(settings: str) -> list[Layer]:
    """The layers, from above, without what is outside. Raises ValueError for packages without a comment."""
    listed = settings.partition("\nlayers =\n")[2].partition("\n\n")[0]
    layers: list[Layer] = []
    for comment, packages in re.findall(r"((?:^ +#.*\n)*)((?:^ +[^#\s].*\n?)+)", listed, re.MULTILINE):
        words = re.sub(r"^ +# ", "", comment, flags=re.MULTILINE).split()
        name, colon, holds = " ".join(words).partition(": ")
        if not colon:
            raise ValueError(f"a comment '# LAYER: what it holds' must be above {packages.split()[0]}")
        lines = [[package.strip() for package in line.split(" | ")] for line in packages.split("\n")]
        kept = [[package for package in line if package not in ("", *OUTSIDE.values())] for line in lines]
        layers.append(Layer(name, holds, [line for line in kept if line]))
    return layers


def layer_table(layers: list[Layer]) -> str:
    """A row for each layer."""
    return table(
        ("layer", "packages", "what they hold"),
        (
            (
                layer.name,
                " > ".join(", ".join(f"`{package}`" for package in line) for line in layer.lines),
                layer.holds,
            )
            for layer in layers
        ),
    )


def described(package: str) -> str:
    """One entry of the list: what the package is for."""
    summary = (ast.get_docstring(init_of(package)) or "").partition("\n\n")[0]
    text = " ".join(f"- **`{package}`**: {summary}".split())
    return fill(text, WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)


def package_list(layers: list[Layer]) -> str:
    """Every package with its purpose, by layer."""
    packages = {layer.name: [package for line in layer.lines for package in line] for layer in layers}
    packages |= {name: [package] for name, package in OUTSIDE.items()}
    return "\n\n".join(
        f"### {name}\n\n" + "\n".join(described(package) for package in listed)
        for name, listed in packages.items()
    )


PARTS: Mapping[tuple[str, str], Callable[[list[Layer]], str]] = {
    ("docs/architecture.md", ""): package_list,
    ("docs/architecture.md", "layers"): layer_table,
}
"""Document, name of a part → what makes it."""


def difference(document: str, made: str, name: str = "") -> list[str]:
    """Where the document differs, apart from where lines are wrapped."""
    old, new = (
        WRAPPED.sub(" ", text).splitlines() for text in (document, with_part(document, TARGET, made, name))
    )
    return list(difflib.unified_diff(old, new, "the document", "the code", lineterm=""))


def main(arguments: list[str]) -> int:
    """Write the parts, or check them; the exit code."""
    layers = layers_of((ROOT / ".importlinter").read_text())
    found = []
    for (place, name), make in PARTS.items():
        document = (ROOT / place).read_text()
        if "--check" in arguments:
            found += difference(document, make(layers), name)
        else:
            (ROOT / place).write_text(with_part(document, TARGET, make(layers), name))
    if found:
        help_text = "The docs show other packages: run 'make architecture' and read the difference"
        print(*found, help_text, sep="\n", file=sys.stderr)  # noqa: T201  # a command
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

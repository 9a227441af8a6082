"""The tables of the docs that list what the registries have: `make tables`.

Run as `python -m tests.tables [--check]` at the root. With `--check` it writes nothing, and fails where a
document shows other rows.
"""

import difflib
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from panapp.declared_settings import SETTINGS, Setting
from panprivacy.encryption import DEFAULT_SCHEME, SCHEMES
from panprivacy.statistics.catalogue import STATISTICS
from panprivacy.statistics.device_input import DeviceInput
from tests.made_part import with_part

ROOT = Path(__file__).resolve().parent.parent
TARGET = "tables"

SECTIONS = {
    DeviceInput.EVENTS: ("events", "#events"),
    DeviceInput.VALUE: ("values", "#values"),
    DeviceInput.RANDOMIZED: ("randomized values", "#randomized-values"),
    DeviceInput.ITEMS: ("stream", "#streams"),
}
"""Kind of input → its name, and its section in docs/recipes.md."""

PAGES = "collections/pages/kinds"
"""Where each kind of input has a file that says how its statistics are offered and shown."""


def statistics() -> str:
    """Every statistic, in the order in which kinds of input are offered."""
    kinds = list(DeviceInput)
    ordered = sorted(STATISTICS.values(), key=lambda statistic: kinds.index(statistic.device_input))
    return table(
        ("statistic", "what it does", "input"),
        (
            (f"`{each.statistic}`", each.description, "[{}]({})".format(*SECTIONS[each.device_input]))
            for each in ordered
        ),
    )


def registries() -> str:
    """Where the statistics of each kind of input lie, and their registry, and what pages say of them."""
    shown = {
        kind: f"{PAGES}/{place.name}"
        for place in sorted((ROOT / PAGES).glob("*.py"))
        for kind in re.findall(r"device_input=DeviceInput\.([A-Z]+)", place.read_text())
    }
    return table(
        ("statistics of", "their files, and the registry", "the file of their pages"),
        (
            (
                SECTIONS[kind][0],
                " ".join(
                    sorted(
                        {
                            "`{}`".format("/".join(each.__module__.split(".")[:-1]))
                            for each in STATISTICS.values()
                            if each.device_input == kind
                        }
                    )
                ),
                f"`{shown[kind.name]}`",
            )
            for kind in DeviceInput
        ),
    )


def schemes() -> str:
    """Every encryption scheme, and what its class says of sizes."""
    return table(
        ("name", "ciphertext", "default"),
        (
            (
                f"`{name}`",
                f"{scheme.public_key_class.ciphertext_bytes} bytes",
                "yes" if name == DEFAULT_SCHEME else "no",
            )
            for name, scheme in SCHEMES.items()
        ),
    )


def settings() -> str:
    """Every setting, as panapp/declared_settings.py declares it."""
    return table(
        ("variable", "required in production", "default", "meaning"),
        (
            (f"`{setting.name}`", setting.requirement, default_shown(setting), setting.meaning)
            for setting in SETTINGS.values()
        ),
    )


def default_shown(setting: Setting) -> str:
    """Its default, as in docs/operations/settings.md."""
    if setting.default is None:
        return setting.shown if setting.local is None else f"`{setting.local}`"
    modes = "" if setting.local is None else f" in production, `{setting.local}` in `local`"
    return f"`{setting.default}`{modes}" + (f" ({setting.note})" if setting.note else "")


def table(header: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """A table of Markdown. A bar in a cell would end it."""
    lines = [f"| {' | '.join(cell.replace('|', '&#124;') for cell in line)} |" for line in (header, *rows)]
    return "\n".join([lines[0], "|---" * len(header) + "|", *lines[1:]])


TABLES: Mapping[str, Callable[[], str]] = {
    "docs/recipes.md": statistics,
    "docs/encryption.md": schemes,
    "docs/operations/settings.md": settings,
    "CONTRIBUTING.md": registries,
}
"""Document → its table."""


def main(arguments: list[str], root: Path = ROOT) -> int:
    """Write the tables, or check them; the exit code."""
    found: list[str] = []
    for name, made in TABLES.items():
        old = (root / name).read_text()
        new = with_part(old, TARGET, made())
        if "--check" in arguments:
            found += difflib.unified_diff(
                old.splitlines(), new.splitlines(), name, "the registries", lineterm=""
            )
        else:
            (root / name).write_text(new)
    if found:
        help_text = "The docs list other rows: run 'make tables' and read the difference"
        print(*found, help_text, sep="\n", file=sys.stderr)  # noqa: T201  # a command
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

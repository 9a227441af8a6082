"""The contracts of `.importlinter` list every package, and only a device speaks to others."""

import ast
from collections.abc import Iterator
from configparser import ConfigParser
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
SETTINGS = ConfigParser()
SETTINGS.read(ROOT / ".importlinter")
PACKAGES = SETTINGS["importlinter"]["root_packages"].split()


def test_contracts_list_every_package() -> None:
    outside = {place.parent.name for place in ROOT.glob("*/__init__.py")} - {"tests", "benchmarks"}
    assert sorted(PACKAGES) == sorted(
        outside | {place.parent.name for place in ROOT.glob("collections/*/__init__.py")}
    )
    layers = SETTINGS["importlinter:contract:layers"]["layers"].replace("|", " ").split()
    assert sorted(layers) == sorted(PACKAGES)


IMPURE = {"asyncio", "http", "requests", "secrets", "socket", "ssl", "time", "urllib3"}
"""What opens connections, reads clocks or draws randomness, of what is installed."""

IMPURE_CALLS = {"now", "today", "utcnow", "urandom", "SystemRandom"}


def impurities(file: Path) -> Iterator[str]:
    """Such modules that a file imports, and the calls by which it asks for the time or for randomness."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            yield from {alias.name.split(".")[0] for alias in node.names} & IMPURE
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from {node.module.split(".")[0]} & IMPURE
        elif isinstance(node, ast.Attribute) and node.attr in (
            "now",
            "today",
            "utcnow",
            "urandom",
            "SystemRandom",
        ):
            yield node.attr


def test_only_device_and_commands_have_connections_clocks_and_draws() -> None:
    found = {file for file in (ROOT / "panprivacy").rglob("*.py") if any(impurities(file))}
    folders = {file.relative_to(ROOT / "panprivacy").parts[0] for file in found if file.stem != "__main__"}
    assert folders == {"device"}

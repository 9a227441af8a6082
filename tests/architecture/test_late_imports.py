"""What a command loads before it has read its file: a refusal must not wait for what runs servers."""

import ast

from tests.architecture.sources import file_of

LATE = {
    "simulations.installation.services",
    "simulations.collect.steps",
    "simulations.collect.collection",
}


def loaded_by(module: str) -> set[str]:
    """The modules of `simulations` that are imported with one, directly or not; not what functions import."""
    loaded: set[str] = set()
    waiting = [module]
    while waiting:
        for node in ast.parse(file_of(waiting.pop()).read_text()).body:
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.module:
                names = [node.module]
            found = {name for name in names if name.startswith("simulations.")} - loaded
            loaded |= found
            waiting += found
    return loaded


def test_collect_loads_what_runs_servers_after_it_has_read_its_file() -> None:
    assert loaded_by("simulations.management.commands.collect").isdisjoint(LATE)
    assert loaded_by("simulations.collect.steps") > LATE - {"simulations.collect.steps"}

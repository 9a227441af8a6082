"""A contract for import-linter: some rooms import none of some parts of other people's packages.

Its own `forbidden` contract knows external packages only as a whole.
"""

import ast
from collections.abc import Iterator
from typing import cast

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, fields, output

from tests.architecture.sources import file_of, is_migration


class Unshown(Contract):
    """Options: `rooms`, root packages; `forbidden`, dotted names of modules, or of objects in them."""

    rooms = fields.ListField(subfield=fields.StringField())
    forbidden = fields.ListField(subfield=fields.StringField())

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        """Kept where no room has such an import; the metadata has those there are, as (importer, name)."""
        # import-linter puts an option's value in the place of its field.
        rooms, forbidden = cast("list[str]", self.rooms), cast("list[str]", self.forbidden)
        found = [
            (module, name)
            for module in sorted(graph.modules)
            if module.split(".")[0] in rooms and not is_migration(module)
            for name in _imported(ast.parse(file_of(module).read_text()))
            if any(f"{name}.".startswith(f"{part}.") for part in forbidden)
        ]
        return ContractCheck(kept=not found, metadata={"found": found})

    def render_broken_contract(self, check: ContractCheck) -> None:
        """Say which module has which import."""
        for module, name in check.metadata["found"]:
            output.print_error(f"{module} imports {name}, which only pages may.")


def _imported(tree: ast.Module) -> Iterator[str]:
    """Every name that is imported anywhere in a file, absolute, with its module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)

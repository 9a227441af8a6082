"""A contract for import-linter: a room imports of another what that one's `__all__` names.

`__all__` names modules, because Django apps cannot import their models in `__init__.py`, and objects where
`__init__.py` has them. Which objects may be imported from there, the type checker says.
"""

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, output

from tests.architecture.sources import face_of, is_migration


class PublicFace(Contract):
    """Holds all root packages to each other's `__all__`, read from their files."""

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        """Kept where no import goes past a face; the metadata has those that do, as (importer, imported)."""
        faces = {room: face_of(room) for room in self.session_options["root_packages"]}
        private = []
        for importer in sorted(graph.modules):
            if importer.split(".")[0] not in faces or is_migration(importer):
                continue
            for imported in sorted(graph.find_modules_directly_imported_by(importer)):
                room, *inside = imported.split(".")
                if room == importer.split(".")[0] or room not in faces or not inside:
                    continue
                if inside[0] not in faces[room]:
                    private.append((importer, imported))
        return ContractCheck(kept=not private, metadata={"private": private})

    def render_broken_contract(self, check: ContractCheck) -> None:
        """Say which imports go past a face, and what would make them right."""
        for importer, imported in check.metadata["private"]:
            room, name = imported.split(".")[:2]
            output.print_error(
                f"{importer} imports {imported}, but __all__ of {room} does not name {name!r}."
            )

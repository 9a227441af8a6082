"""The rooms' own files, read without importing them."""

import ast
from importlib.util import find_spec
from pathlib import Path


def init_of(room: str) -> ast.Module:
    """The `__init__.py` of a room. Raises ValueError where there is none."""
    spec = find_spec(room)
    if spec is None or spec.origin is None:
        raise ValueError(f"there is no room {room} with an __init__.py on the import path")
    return ast.parse(Path(spec.origin).read_text())


def face_of(room: str) -> frozenset[str]:
    """What the room's `__all__` names; nothing where it has none."""
    for node in init_of(room).body:
        if isinstance(node, ast.Assign) and [ast.unparse(target) for target in node.targets] == ["__all__"]:
            return frozenset(ast.literal_eval(node.value))
    return frozenset()


def file_of(module: str) -> Path:
    """The file of a module of a room, itself a module or a package."""
    room, *inside = module.split(".")
    spec = find_spec(room)
    if spec is None or spec.origin is None:
        raise ValueError(f"there is no room {room} with an __init__.py on the import path")
    place = Path(spec.origin).parent.joinpath(*inside)
    return place / "__init__.py" if place.is_dir() else place.with_suffix(".py")


def is_migration(module: str) -> bool:
    """Whether a module tells of what was: its imports are of its day."""
    return "migrations" in module.split(".")

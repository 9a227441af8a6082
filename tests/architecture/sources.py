"""Files of packages, read without importing them."""

import ast
from importlib.util import find_spec
from pathlib import Path


def init_of(package: str) -> ast.Module:
    """The `__init__.py` of a package. Raises ValueError if there is none."""
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        raise ValueError(f"there is no package {package} with an __init__.py on the import path")
    return ast.parse(Path(spec.origin).read_text())


def file_of(module: str) -> Path:
    """The file of a module."""
    package, *inside = module.split(".")
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        raise ValueError(f"there is no package {package} with an __init__.py on the import path")
    place = Path(spec.origin).parent.joinpath(*inside)
    return place / "__init__.py" if place.is_dir() else place.with_suffix(".py")

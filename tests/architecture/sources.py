"""Files of packages, read without importing them."""

from importlib.util import find_spec
from pathlib import Path


def file_of(module: str) -> Path:
    """The file of a module."""
    package, *inside = module.split(".")
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        raise ValueError(f"there is no package {package} with an __init__.py on the import path")
    place = Path(spec.origin).parent.joinpath(*inside)
    return place / "__init__.py" if place.is_dir() else place.with_suffix(".py")

"""Importing a part of the library loads that part, not the rest."""

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.architecture.imports import MOST, loaded_by


@pytest.mark.parametrize("module", MOST)
def test_importing_a_part_of_the_library_loads_few_modules(module: str) -> None:
    modules, lines = MOST[module]
    loaded = loaded_by(module)
    assert loaded.modules <= modules
    assert loaded.lines <= lines


def test_every_public_name_of_a_package_exists() -> None:
    root = Path(__file__).resolve().parents[2]
    missing: list[str] = []
    for top, folder in ((root / "collections", ""), (root, "panprivacy")):
        for file in sorted((top / folder).rglob("__init__.py")):
            name = ".".join(file.parent.relative_to(top).parts)
            package = import_module(name)
            missing += [
                f"{name}.{public}"
                for public in getattr(package, "__all__", ())
                if not hasattr(package, public) and find_spec(f"{name}.{public}") is None
            ]
    assert missing == []

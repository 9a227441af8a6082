"""Importing a part of the library loads that part, not the rest."""

import pytest

from tests.architecture.imports import MOST, loaded_by


@pytest.mark.parametrize("module", MOST)
def test_importing_a_part_of_the_library_loads_few_modules(module: str) -> None:
    modules, lines = MOST[module]
    loaded = loaded_by(module)
    assert loaded.modules <= modules
    assert loaded.lines <= lines

"""What several files of this folder ask for."""

import pytest

from tests.panapp.scene import complete


@pytest.fixture
def production() -> dict[str, str]:
    return complete("all-in-one")

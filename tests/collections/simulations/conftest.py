from typing import Any

import pytest


@pytest.fixture(autouse=True)
def _address(settings: Any) -> None:
    settings.SITE_URL = "http://localhost"


@pytest.fixture
def site() -> Any:
    """The site that devices report to."""
    from tests.collections.simulations.scene import Site

    return Site()

from collections.abc import Iterator

import pytest
from django.core.cache import caches


@pytest.fixture(autouse=True)
def _nothing_is_remembered() -> Iterator[None]:
    """By the tests after this one."""
    yield
    caches["composed"].clear()

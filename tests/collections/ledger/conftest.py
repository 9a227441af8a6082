from collections.abc import Iterator

import pytest
from django.core.cache import caches


@pytest.fixture(autouse=True)
def _nothing_is_too_late(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """However slow the machine is; one test says what happens where time runs out."""
    monkeypatch.setattr("ledger.selectors.SECONDS", 600.0)
    yield
    caches["composed"].clear()

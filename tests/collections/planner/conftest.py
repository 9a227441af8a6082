from collections.abc import Iterator
from typing import Any

import pytest
from django.core.cache import caches

from panprivacy.planning import curves
from planner import operations


@pytest.fixture(autouse=True)
def plans_of_this_test(settings: Any) -> Iterator[None]:
    """A cache of plans that no other process of the run sees."""
    memory = {"BACKEND": "django.core.cache.backends.locmem.LocMemCache", "LOCATION": "plans"}
    settings.CACHES = {**settings.CACHES, "plans": memory}
    caches["plans"].clear()
    yield
    caches["plans"].clear()


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Tasks that would have been sent, as (question, slot)."""
    tasks: list[Any] = []
    monkeypatch.setattr(operations, "_send", lambda question, slot: tasks.append((question, slot)))
    return tasks


@pytest.fixture(autouse=True)
def few_points(monkeypatch: pytest.MonkeyPatch) -> None:
    """Curves that are computed in no time."""
    monkeypatch.setattr(curves, "POINTS", 3)
    monkeypatch.setattr(curves, "AXIS_POINTS", 3)
    monkeypatch.setattr(operations, "TASK_SECONDS", 8.0)


@pytest.fixture
def no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Requests have time for nothing but the expectation."""
    monkeypatch.setattr(operations, "QUICK_SECONDS", -1.0)

import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.core.cache import caches

from panprivacy.planning import curves
from panprivacy.planning.plan import Depth, Plan, Question, plan_of
from recipes.planner import operations
from tests.patience import PATIENCE

PLANS: dict[tuple[str, Depth], Plan] = {}
"""What tasks have answered here: several tests ask the same."""


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
    monkeypatch.setattr(curves, "AXIS_POINTS", 2)
    monkeypatch.setattr(operations, "TASK_SECONDS", PATIENCE)

    def remembered(question: Question, stop: Any, depth: Depth = Depth.WHOLE) -> Plan:
        key = (json.dumps(question.as_dict()), depth)
        if depth == Depth.QUICK or operations.TASK_SECONDS < PATIENCE:
            return plan_of(question, stop, depth)
        if key not in PLANS:
            PLANS[key] = plan_of(question, stop, depth)
        return PLANS[key]

    monkeypatch.setattr(operations, "plan_of", remembered)


@pytest.fixture
def no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Requests have time for nothing but the expectation."""
    monkeypatch.setattr(operations, "QUICK_SECONDS", -1.0)

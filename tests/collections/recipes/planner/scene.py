"""Numbers that a worker computes: caches of one test, and the tasks that requests would have sent."""

import json
from typing import Any

import pytest
from django.core.cache import caches

from panprivacy.accounting.composition import _composed, _roughly_composed
from panprivacy.accounting.number_cache import epsilon_at, symmetric_loss_of
from recipes.planner import guarantees


def another_process() -> None:
    """Forget what this process remembers."""
    for kept in (symmetric_loss_of, epsilon_at, _composed, _roughly_composed):
        kept.cache_clear()


def own_caches(settings: Any, *names: str) -> None:
    """Empty caches, of which no other process of the run sees anything."""
    memory = "django.core.cache.backends.locmem.LocMemCache"
    own = {name: {"BACKEND": memory, "LOCATION": f"{name} here"} for name in names}
    settings.CACHES = {**settings.CACHES, **own}
    for name in names:
        caches[name].clear()
    another_process()


def tasks_sent(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Arguments of the tasks that would have been sent, as a worker gets them."""
    tasks: list[Any] = []
    monkeypatch.setattr(
        guarantees, "task_send", lambda _, *arguments: tasks.append(json.loads(json.dumps(arguments)))
    )
    return tasks


def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Requests have no time for anything."""
    monkeypatch.setattr(guarantees, "REQUEST_SECONDS", -1.0)

"""Numbers that a process remembers."""

from typing import Any

from django.core.cache import caches

from panprivacy.accounting.composition import _composed, _roughly_composed
from panprivacy.accounting.number_cache import epsilon_at, symmetric_loss_of


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

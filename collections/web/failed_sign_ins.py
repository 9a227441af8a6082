"""Counts of failed sign-ins: axes' own answer 500 to a wrong code that races a right one."""

from typing import Any

from axes.handlers.cache import AxesCacheHandler
from django.conf import settings
from django.core.cache import cache

from web.request_counts import count_on


class _Counts:
    """The cache for axes. It adds to a count in two steps, `add` and then `incr`; a right password deletes
    the count in between, and `incr` of Django raises ValueError then."""

    def __getattr__(self, name: str) -> Any:
        return getattr(cache, name)

    def incr(self, key: str, delta: int = 1) -> int:
        return count_on(cache, key, seconds=settings.AXES_COOLOFF_TIME * 3600, by=delta)


class FailedSignIns(AxesCacheHandler):  # type: ignore[misc]  # axes has no types
    """Counts failed sign-ins in the cache; safe if a count is deleted between two steps (`AXES_HANDLER`)."""

    def __init__(self) -> None:
        self.cache = _Counts()

"""Another time, for this process and its database alike."""

from collections.abc import Callable
from datetime import datetime, timedelta

import pytest
from django.utils import timezone

from storage import clock


def time_is(monkeypatch: pytest.MonkeyPatch, moment: Callable[[], datetime]) -> None:
    """Every clock that the product asks says what `moment` returns, and none is doubted."""
    monkeypatch.setattr(timezone, "now", moment)
    monkeypatch.setattr(clock, "database_now", moment)
    monkeypatch.setattr(clock, "settled_now", moment)


def unit_begins(monkeypatch: pytest.MonkeyPatch, seconds: int) -> None:
    """Time runs on from where a unit of so many seconds has just begun: it does not end within a test."""
    running = timezone.now
    ahead = timedelta(seconds=seconds + 1 - running().timestamp() % seconds)
    time_is(monkeypatch, lambda: running() + ahead)

"""Another time, for this process and its database alike."""

from collections.abc import Callable
from datetime import datetime

import pytest
from django.utils import timezone

from storage import clock


def time_is(monkeypatch: pytest.MonkeyPatch, moment: Callable[[], datetime]) -> None:
    """Every clock that the product asks says what `moment` returns, and nobody doubts it."""
    monkeypatch.setattr(timezone, "now", moment)
    monkeypatch.setattr(clock, "database_now", moment)
    monkeypatch.setattr(clock, "settled_now", moment)

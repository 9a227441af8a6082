"""A helper's settings beside the leader's."""

from typing import Any

import pytest


@pytest.fixture(autouse=True)
def _two_servers(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    # Here: models cannot be imported before Django is set up.
    from tests.clock import time_is
    from tests.collections.leader import pair

    settings.HELPER_URL = pair.HELPER_URL
    settings.LEADER_URL = pair.LEADER_URL
    settings.LEADER_KEY = pair.leader_verification_key()
    settings.SMALLEST_COHORT = 2
    pair.CLOCK.now = pair.NOW
    time_is(monkeypatch, lambda: pair.CLOCK.now)

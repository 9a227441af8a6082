"""A helper's settings beside the leader's."""

from typing import Any

import pytest


@pytest.fixture(autouse=True)
def _two_servers(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    # Here: models cannot be imported before Django is set up.
    from tests.clock import time_is
    from tests.collections.dap.leader import scene

    settings.HELPER_URL = scene.HELPER_URL
    settings.LEADER_URL = scene.LEADER_URL
    settings.LEADER_KEY = scene.leader_verification_key()
    settings.SMALLEST_COHORT = 2
    scene.CLOCK.now = scene.NOW
    time_is(monkeypatch, lambda: scene.CLOCK.now)

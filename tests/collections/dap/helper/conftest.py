"""Every test here runs with the addresses and settings of a helper."""

from typing import Any

import pytest


@pytest.fixture(autouse=True)
def _helper_role(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    # Here, because this file is read before Django is set up.
    from tests.clock import unit_begins
    from tests.collections.dap.helper.scene import HELPER_URL, LEADER_KEY, PRECISION

    settings.ROOT_URLCONF = "panapp.helper_urls"
    settings.HELPER_URL = HELPER_URL
    settings.LEADER_KEY = LEADER_KEY
    settings.SMALLEST_COHORT = 2
    # What a test calls now is one time of reports from its beginning to its end.
    unit_begins(monkeypatch, PRECISION)

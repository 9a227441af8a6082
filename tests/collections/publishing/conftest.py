"""Every test here runs with the settings of a leader."""

from typing import Any

import pytest


@pytest.fixture(autouse=True)
def _leader(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    # Here, because this file is read before Django is set up.
    from tests.collections.publishing import scene

    settings.LEADER_URL = scene.LEADER_URL
    settings.HELPER_URL = scene.HELPER_URL
    # Where the noise is not what a test is about; tests/attacks has those that are about it.
    monkeypatch.setattr("panprivacy.accounting.noisy_count.draw", lambda *_: 0)
    monkeypatch.setattr("panprivacy.accounting.noisy_count.draw_margin", lambda *_: 0)
    settings.HELPER_KEY = scene.verification_key_of(scene.HELPER_SIGNING_KEY)

"""Every test here runs with the settings of a leader and an issuer."""

from typing import Any

import pytest


@pytest.fixture(autouse=True)
def _leader(settings: Any) -> None:
    # Here, because this file is read before Django is set up.
    from tests.collections.publishing import scene

    settings.LEADER_URL, settings.HELPER_URL = scene.LEADER_URL, scene.HELPER_URL
    settings.HELPER_KEY = scene.verification_key_of(scene.HELPER_SIGNING_KEY)

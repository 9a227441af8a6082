"""Every test here runs with the settings of a site that has a shuffler."""

from typing import Any

import pytest


@pytest.fixture(autouse=True)
def _analyzer(settings: Any) -> None:
    # Here, because this file is read before Django is set up.
    from tests.collections.shuffle.analyzer import scene

    settings.SHUFFLER_URL = scene.SHUFFLER_URL
    settings.SHUFFLER_KEY = scene.verification_key_of(scene.SHUFFLER_SIGNING_KEY)

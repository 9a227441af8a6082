"""Every test here runs with the addresses and settings of a shuffler."""

from typing import Any

import pytest


@pytest.fixture(autouse=True)
def _shuffler_role(settings: Any) -> None:
    # Here, because this file is read before Django is set up.
    from panapp.roles import ROLES
    from tests.collections.shuffle.shuffler.scene import ANALYZER_KEY, SHUFFLER_URL

    role = ROLES["shuffler"]
    settings.ROOT_URLCONF = role.urlconf
    settings.OBLIVIOUS_ADDRESSES = frozenset(role.oblivious)
    settings.SHUFFLER_URL = SHUFFLER_URL
    settings.ANALYZER_KEY = ANALYZER_KEY
    settings.SMALLEST_COHORT = 2

"""Every test here runs with the addresses and settings of an issuer."""

from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(autouse=True)
def folder(settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where erasable keys lie."""
    # Here, because this file is read before Django is set up.
    from tests.collections.tokens.issuer.scene import SETTINGS, seeded_keys
    from tokens.issuer import keys as issuer_keys

    for name, value in SETTINGS.items():
        setattr(settings, name, value)
    settings.ERASABLE_KEYS_DIR = tmp_path
    seeded_keys(monkeypatch)
    issuer_keys._OPENED.clear()  # of recipes of other tests
    return tmp_path

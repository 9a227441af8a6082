from pathlib import Path

import pytest


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Where schemathesis' plugin is switched off, what needs it is not even imported."""
    needs_plugin = collection_path.name == "test_scopes_fuzzed.py"
    return True if needs_plugin and not config.pluginmanager.hasplugin("schemathesis") else None

from pathlib import Path

import pytest


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Where the plugin is switched off (`-p no:schemathesis`), what needs it is not even imported."""
    needs_plugin = collection_path.name == "test_description_fuzzed.py"
    return True if needs_plugin and not config.pluginmanager.hasplugin("schemathesis") else None


@pytest.fixture
def several_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four reports a shard, three segments a sorted one."""
    monkeypatch.setattr("reports.objects.SHARD_REPORTS", 4)
    monkeypatch.setattr("reports.objects.SORTED_SEGMENTS", 3)

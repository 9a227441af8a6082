"""Tests that need Node skip with the reason where there is none that is new enough."""

from pathlib import Path

import pytest

from tests.peers.node_packages import installed


def program(folder: Path, name: str, says: str) -> None:
    (folder / name).write_text(f"#!/bin/sh\necho {says}\n")
    (folder / name).chmod(0o755)


def test_install_without_new_node_skips_and_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("PANAPP_TEST_SERVICES", "required")
    for name, says, reason in (
        ("npm", "10.0.0", "node is not installed: Node 20 or newer"),
        ("node", "18.20.1", "Node 20 or newer is needed, not 18.20.1"),
    ):
        program(tmp_path, name, says)
        with pytest.raises(pytest.skip.Exception, match=reason):
            installed(tmp_path, tmp_path / "copy")
    assert not (tmp_path / "copy").exists()

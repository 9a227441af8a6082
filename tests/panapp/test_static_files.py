"""Static files of a local installation: whoever waits for another process finds what that has collected."""

import json
from pathlib import Path

import pytest
from django.contrib.staticfiles.storage import ManifestStaticFilesStorage
from django.test import override_settings

from panapp import static_files


def test_files_that_another_process_collected_meanwhile_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with override_settings(STATIC_ROOT=str(tmp_path)):
        waiting = ManifestStaticFilesStorage()
        # What the other one leaves when it gives back the lock.
        manifest = {"version": "1.1", "paths": {"icon.svg": "icon.0123.svg"}, "hash": ""}
        (tmp_path / waiting.manifest_name).write_text(json.dumps(manifest))
        (tmp_path / static_files.STAMP).write_text(static_files._fingerprint())
        monkeypatch.setattr(static_files, "staticfiles_storage", waiting)
        static_files.static_files_prepare()
    assert waiting.hashed_files == manifest["paths"]

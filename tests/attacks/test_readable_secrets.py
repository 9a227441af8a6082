"""Everybody on the machine could read the secrets: `generate_secrets > .env` made a file of mode 0644.

Required: it is the owner's alone, before anything is in it.
"""

import os
import shlex
import stat
import subprocess
import sys
from pathlib import Path

from django.conf import settings

from panapp.generate_secrets import named_secrets
from tests.panapp.scene import PLACES


def test_file_of_secrets_is_its_owners_alone(tmp_path: Path) -> None:
    file = tmp_path / ".env"
    command = (
        f"umask 022; {shlex.quote(sys.executable)} -m panapp.generate_secrets > {shlex.quote(str(file))}"
    )
    subprocess.run(["sh", "-c", command], cwd=settings.BASE_DIR, env=PLACES, check=True, capture_output=True)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert {line.split("=")[0] for line in file.read_text().splitlines()} == set(named_secrets())


def test_device_that_secrets_are_shown_on_keeps_its_mode() -> None:
    before = Path(os.devnull).stat().st_mode
    with Path(os.devnull).open("w") as null:
        command = [sys.executable, "-m", "panapp.generate_secrets"]
        subprocess.run(command, cwd=settings.BASE_DIR, env=PLACES, check=True, stdout=null, stderr=null)
    assert Path(os.devnull).stat().st_mode == before

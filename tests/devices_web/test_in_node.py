"""The browser's client is built and tested by Node: types, and the vectors that this side made."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.peers.node_packages import installed

pytestmark = pytest.mark.long

ROOT = Path(__file__).parent.parent.parent
VERIFIER = Path("collections/pages/static/verify.js")
"""The built file that the site serves, with which the tests compare theirs."""


def test_client_of_the_browser_is_typed_builds_and_passes_its_tests(tmp_path: Path) -> None:
    copy = installed(ROOT / "devices_web", tmp_path / "devices_web")
    (tmp_path / VERIFIER).parent.mkdir(parents=True)
    shutil.copy(ROOT / VERIFIER, tmp_path / VERIFIER)
    for command in (["node_modules/.bin/tsc", "--project", "."], ["node", "build.mjs"]):
        subprocess.run(command, cwd=copy, check=True, timeout=300)
    programs = sorted(str(path) for path in (copy / "build" / "tests").glob("*.test.mjs"))
    assert programs
    done = subprocess.run(
        ["node", "--test", *programs], cwd=copy, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stdout[-3000:]

"""Software of others in JavaScript, installed beside the test at the versions of its lock file, and run."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.peers.conversations import Peer, talking

SECONDS = 120

LEAST_VERSION = 20
"""Of Node, as the Makefile asks for."""


@contextmanager
def running(name: str, folder: Path) -> Iterator[Peer]:
    """The program of a folder of this one, in a copy below `folder` that has its packages."""
    installed_in = installed(Path(__file__).parent / name, folder / name)
    with talking(["node", "peer.mjs"], installed_in) as peer:
        yield peer


def installed(source: Path, target: Path) -> Path:
    """A copy of a folder with its packages; skips the test where there is no Node that is new enough, or no
    registry. It does so where services are required, too: nothing but these tests needs Node."""
    for program in ("node", "npm"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed: Node {LEAST_VERSION} or newer is needed, with npm")
    asked = ["node", "--eval", "console.log(process.versions.node)"]
    version = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    if int(version.split(".")[0]) < LEAST_VERSION:
        pytest.skip(f"Node {LEAST_VERSION} or newer is needed, not {version}")
    shutil.copytree(source, target, ignore=shutil.ignore_patterns("node_modules", "build"))
    command = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline"]
    try:
        done = subprocess.run(
            command,
            cwd=target,
            capture_output=True,
            text=True,
            check=False,
            timeout=SECONDS,
            env={**os.environ, "npm_config_fetch_retries": "0"},
        )
    except subprocess.TimeoutExpired:
        pytest.skip(f"npm installed nothing in {SECONDS} seconds")
    if done.returncode:
        pytest.skip(f"npm could not install the packages: {done.stderr.strip()[-300:]}")
    return target

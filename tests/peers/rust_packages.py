"""Software of others in Rust, built at the versions of its lock file, and run."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.peers.conversations import Peer, talking

SECONDS = 240


@contextmanager
def running(name: str, folder: Path) -> Iterator[Peer]:
    """The program of a folder of this one, built below `folder`."""
    with talking([built(Path(__file__).parent / name, folder)], folder) as peer:
        yield peer


def built(source: Path, folder: Path) -> Path:
    """The program; skips the test where there is no cargo, or no registry and no copy of the crates."""
    if shutil.which("cargo") is None:
        pytest.skip("cargo is not installed")
    manifest = ("--locked", "--manifest-path", str(source / "Cargo.toml"))
    environment = {**os.environ, "CARGO_TARGET_DIR": str(folder), "CARGO_NET_RETRY": "0"}
    try:
        fetched = subprocess.run(
            ["cargo", "fetch", *manifest],
            capture_output=True,
            text=True,
            check=False,
            timeout=SECONDS,
            env=environment,
        )
    except subprocess.TimeoutExpired:
        pytest.skip(f"cargo fetched nothing in {SECONDS} seconds")
    if fetched.returncode:
        pytest.skip(f"cargo could not fetch the crates: {fetched.stderr.strip()[-300:]}")
    subprocess.run(["cargo", "build", "--quiet", "--offline", *manifest], check=True, env=environment)
    return folder / "debug" / "peer"

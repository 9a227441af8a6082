"""Software of others in Python, installed into an environment of its own at the versions of its lock file."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SECONDS = 120


def installed(source: Path, target: Path) -> Path:
    """The folder of programs of an environment with the packages of a folder's `requirements.txt`; skips the
    test where no registry has them."""
    uv = (sys.executable, "-m", "uv")
    subprocess.run([*uv, "venv", "--quiet", "--python", sys.executable, target], check=True)
    command = [*uv, "pip", "install", "--quiet", "--python", target, "--require-hashes"]
    try:
        done = subprocess.run(
            [*command, "--requirements", source / "requirements.txt"],
            capture_output=True,
            text=True,
            check=False,
            timeout=SECONDS,
        )
    except subprocess.TimeoutExpired:
        pytest.skip(f"uv installed nothing in {SECONDS} seconds")
    if done.returncode:
        pytest.skip(f"uv could not install the packages: {done.stderr.strip()[-300:]}")
    return target / "bin"


def needs(program: str) -> None:
    """Skips the test where a program is missing that no registry of packages has."""
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")

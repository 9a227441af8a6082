"""Reading the files of a database that is in use."""

import subprocess
import sys
from pathlib import Path

READ = "import pathlib, sys; sys.stdout.buffer.write(pathlib.Path(sys.argv[1]).read_bytes())"

SEARCH = """
import pathlib, sys
needle = sys.stdin.buffer.read()
for path in pathlib.Path(sys.argv[1]).rglob("*"):
    if path.is_file() and needle in path.read_bytes():
        print(path)
"""


def content_of(path: Path) -> bytes:
    """A file's content, read by another process: closing a file of SQLite's here would take away this
    process's locks on it, and with them what keeps the database whole."""
    return subprocess.run([sys.executable, "-c", READ, str(path)], capture_output=True, check=True).stdout


def files_holding(needle: bytes, folder: Path) -> set[str]:
    """Names of the files below `folder` in which `needle` stands; one other process reads them all."""
    search = [sys.executable, "-c", SEARCH, str(folder)]
    return set(
        subprocess.run(search, input=needle, capture_output=True, check=True).stdout.decode().splitlines()
    )

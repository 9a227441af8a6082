"""Reading the files of a database that is in use."""

import subprocess
import sys
from pathlib import Path

READ = "import pathlib, sys; sys.stdout.buffer.write(pathlib.Path(sys.argv[1]).read_bytes())"


def content_of(path: Path) -> bytes:
    """A file's content, read by another process: closing a file of SQLite's here would take away this
    process's locks on it, and with them what keeps the database whole."""
    return subprocess.run([sys.executable, "-c", READ, str(path)], capture_output=True, check=True).stdout


def files_holding(needle: bytes, folder: Path) -> set[str]:
    """Names of the files below `folder` in which `needle` stands."""
    return {str(path) for path in folder.rglob("*") if path.is_file() and needle in content_of(path)}

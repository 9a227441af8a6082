"""A PostgreSQL server of a test's own, with the defaults of `initdb`, whose files the test may read."""

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

ACCOUNT = "postgres"
"""Who runs it where the tests run as root, as whom PostgreSQL refuses to run."""


@dataclass(frozen=True)
class Cluster:
    """A running server.

    Attributes:
        data: its data directory.
        url: address of an empty database, as DATABASE_URL.
    """

    data: Path
    url: str


def why_not() -> str | None:
    """Why there can be none on this machine."""
    if _programs() is None:
        return "initdb and pg_ctl of PostgreSQL are not installed"
    if os.getuid() == 0 and ACCOUNT not in {entry.pw_name for entry in pwd.getpwall()}:
        return f"PostgreSQL does not run as root, and there is no account {ACCOUNT}"
    return None


@contextmanager
def running_cluster() -> Iterator[Cluster]:
    """A new one, until the end."""
    programs = _programs()
    assert programs is not None
    # Not pytest's own directory: other accounts cannot reach it.
    folder = Path(tempfile.mkdtemp(prefix="cluster-"))
    as_whom: dict[str, Any] = {"user": ACCOUNT} if os.getuid() == 0 else {}
    if as_whom:
        shutil.chown(folder, ACCOUNT)
    data = folder / "data"

    def run(program: str, *arguments: str) -> None:
        command = [str(programs / program), "--pgdata", str(data), *arguments]
        said = folder / program
        # Into a file: the server inherits it, and a pipe would end with the server only.
        with said.open("w") as file:
            done = subprocess.run(command, cwd=folder, stdout=file, stderr=file, check=False, **as_whom)
        assert done.returncode == 0, said.read_text()

    try:
        run("initdb", "--username", "postgres", "--auth", "trust", "--no-sync", "--encoding", "UTF8")
        options = f"-k {folder} -c listen_addresses= -c logging_collector=on"
        run("pg_ctl", "--wait", "--silent", "--options", options, "start")
        try:
            yield Cluster(data, f"postgres://postgres@{quote(str(folder), safe='')}/postgres")
        finally:
            run("pg_ctl", "--wait", "--mode", "immediate", "stop")
    finally:
        shutil.rmtree(folder)


def _programs() -> Path | None:
    """The newest version's programs, where Debian and its kin put them, or on the path."""
    installed = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda folder: int(folder.parent.name))
    on_path = shutil.which("initdb")
    folders = [*reversed(installed), *([Path(on_path).parent] if on_path else [])]
    return next((folder for folder in folders if (folder / "pg_ctl").exists()), None)

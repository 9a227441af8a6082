"""With a full disk `/health/ready` must not say ok: a load balancer would send reports to be refused.

PostgreSQL writes a new file, and the process one to each directory that it writes to.
"""

import errno
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test import Client

from reports import object_store
from storage import write_check
from storage.models import WriteCheck

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _nothing_was_written_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(write_check, "_written_at", None)


@contextmanager
def database_that_is_full(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """SQLite answers "database or disk is full" where it may have no more pages."""
    with connection.cursor() as cursor:
        cursor.execute("VACUUM" if not connection.in_atomic_block else "SELECT 1")
        cursor.execute("PRAGMA freelist_count")
        (free,) = cursor.fetchone()
        cursor.execute("PRAGMA page_count")
        (pages,) = cursor.fetchone()
        # Pages that are free already could be filled.
        monkeypatch.setattr(write_check, "FILLER_BYTES", write_check.FILLER_BYTES + free * 4096)
        cursor.execute(f"PRAGMA max_page_count={pages}")
        try:
            yield
        finally:
            cursor.execute("PRAGMA max_page_count=1073741823")


def checks(client: Client) -> Any:
    answer = client.get("/health/ready")
    assert answer.status_code == (200 if answer.json()["status"] == "ok" else 503)
    return answer.json()["checks"]


@pytest.mark.skipif(connection.vendor != "sqlite", reason="PostgreSQL has no limit that a test could set")
def test_full_database_is_not_ready(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    with database_that_is_full(monkeypatch):
        assert checks(client)["database"] == "ok"
        assert checks(client)["writes"] == "failed"
    assert checks(client)["writes"] == "ok"


PLACES = ("database", "stream keys", "erasable keys", "temporary files")


@pytest.mark.parametrize("full", PLACES)
def test_directory_that_takes_no_new_file_is_not_ready(
    client: Client, settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, full: str
) -> None:
    places = {name: tmp_path / name for name in PLACES}
    for place in places.values():
        place.mkdir()
    settings.STREAM_KEYS_DIR, settings.ERASABLE_KEYS_DIR = places["stream keys"], places["erasable keys"]
    monkeypatch.setattr(tempfile, "tempdir", str(places["temporary files"]))
    monkeypatch.setattr(write_check, "database_directories", lambda: [places["database"]])
    assert checks(client)["writes"] == "ok"
    made = tempfile.NamedTemporaryFile

    def refused(**options: Any) -> Any:
        if Path(options["dir"]) == places[full]:
            raise OSError(errno.ENOSPC, "No space left on device")
        return made(**options)

    monkeypatch.setattr(tempfile, "NamedTemporaryFile", refused)
    monkeypatch.setattr(write_check, "_written_at", None)
    assert checks(client)["writes"] == "failed"
    monkeypatch.setattr(tempfile, "NamedTemporaryFile", made)
    assert checks(client)["writes"] == "ok"
    assert [path for place in places.values() for path in place.iterdir()] == []


@pytest.mark.skipif(connection.vendor != "sqlite", reason="PostgreSQL writes to a machine of its own")
def test_directory_of_sqlite_is_written_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "panapp.sqlite3"
    monkeypatch.setitem(connection.settings_dict, "NAME", path)
    assert write_check.database_directories() == []
    path.touch()
    assert write_check.database_directories() == [tmp_path]


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite's directory is written to")
def test_postgresql_writes_a_new_file_at_each_check() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL work_mem = '64kB'")
        cursor.execute(f"EXPLAIN (ANALYZE) {write_check._SPILLING}")
        assert "Sort Method: external merge  Disk:" in str(cursor.fetchall())


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 4 MiB."""
    mount = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(tmp_path)]
    if subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("only root mounts file systems")
    try:
        yield tmp_path
    finally:
        subprocess.run(["umount", str(tmp_path)], check=True)


@pytest.mark.skipif(connection.vendor != "sqlite", reason="PostgreSQL writes to a machine of its own")
def test_full_file_system_is_not_ready_though_the_database_takes_pages(
    client: Client, settings: Any, small_disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = small_disk / "panapp.sqlite3"
    path.touch()
    monkeypatch.setitem(connection.settings_dict, "NAME", path)
    settings.OBJECT_STORE = f"file://{small_disk}/store"
    monkeypatch.setattr(object_store, "WAIT_SECONDS", 0.0)

    def found() -> tuple[str, str]:
        monkeypatch.setattr(write_check, "_written_at", None)
        monkeypatch.setattr(object_store, "_checked_at", None)
        answer = checks(client)
        return answer["writes"], answer["store"]

    assert found() == ("ok", "ok")
    filling = small_disk / "filling"
    with pytest.raises(OSError, match="No space"), filling.open("wb", buffering=0) as file:
        while True:
            file.write(bytes(4_096))
    assert found() == ("failed", "failed")
    filling.unlink()
    assert found() == ("ok", "ok")


def test_asking_again_and_again_writes_once_in_10_s(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(write_check.time, "monotonic", lambda: now[0])
    fillers = []
    for seconds in (0.0, 5.0, 9.9, 10.0):
        now[0] = 100.0 + seconds
        assert checks(client)["writes"] == "ok"
        fillers.append(bytes(WriteCheck.objects.get().filler))
    assert fillers[0] == fillers[1] == fillers[2] != fillers[3]
    assert len(fillers[0]) == write_check.FILLER_BYTES

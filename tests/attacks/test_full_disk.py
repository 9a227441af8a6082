"""With a full disk `/health/ready` said ok, so that a load balancer went on sending reports to be refused.

Before: it read from the database only, and reading needs no room.

Now: it writes 32 KiB, and a file beside the keys of streams where there are any.
"""

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test import Client

from storage import writing
from storage.models import WriteCheck

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _nothing_was_written_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "_written_at", None)


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
        monkeypatch.setattr(writing, "FILLER_BYTES", writing.FILLER_BYTES + free * 4096)
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


def test_disk_that_takes_no_key_of_a_stream_is_not_ready(
    client: Client, settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.STREAM_KEYS_DIR = tmp_path
    monkeypatch.setattr(writing, "database_write", lambda: None)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        found = checks(client)["writes"]
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert found == "failed"
    assert checks(client)["writes"] == "ok"
    assert list(tmp_path.iterdir()) == []


def test_whoever_asks_again_and_again_writes_once_in_ten_seconds(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [100.0]
    monkeypatch.setattr(writing.time, "monotonic", lambda: now[0])
    fillers = []
    for seconds in (0.0, 5.0, 9.9, 10.0):
        now[0] = 100.0 + seconds
        assert checks(client)["writes"] == "ok"
        fillers.append(bytes(WriteCheck.objects.get().filler))
    assert fillers[0] == fillers[1] == fillers[2] != fillers[3]
    assert len(fillers[0]) == writing.FILLER_BYTES

"""Three web processes of 32 threads could ask PostgreSQL for more connections than it has.

Required: the threads of a process share at most `PANAPP_DATABASE_CONNECTIONS`. 40 threads that all work at
once are served by 16 connections; a thread that gets none in 5 seconds answers 503.
"""

import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.conf import settings
from django.db import OperationalError, connection

from tests.patience import PATIENCE

THREADS = 40

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has no connections to run out of"),
]


SERVED = """
SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND backend_type = 'client backend'
"""
"""Not those that PostgreSQL makes for itself, to tidy up."""


def test_threads_share_a_bounded_number_of_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    most = connection.settings_dict["OPTIONS"]["pool"]["max_size"]
    pool = connection.pool
    assert pool is not None
    # All are served, however slow the machine; the next test is about who is not.
    monkeypatch.setattr(pool, "timeout", PATIENCE)

    def work(_: int) -> int:
        try:
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_sleep(0.1)")
                cursor.execute(SERVED)
                return int(cursor.fetchone()[0])
        finally:
            connection.close()

    with ThreadPoolExecutor(THREADS) as threads:
        seen = list(threads.map(work, range(2 * THREADS)))
    assert len(seen) == 2 * THREADS
    assert 1 < max(seen) <= most < THREADS


def test_thread_without_a_connection_fails_in_time() -> None:
    pool = connection.pool
    assert pool is not None
    held = []
    try:
        with pytest.raises(OperationalError):  # whichever is one too many
            for _ in range(settings.DATABASES["default"]["OPTIONS"]["pool"]["max_size"] + 1):
                began = time.monotonic()
                connection.connection = None
                connection.ensure_connection()
                held.append(connection.connection)
        assert time.monotonic() - began < 20
    finally:
        connection.connection = None
        for one in held:
            pool.putconn(one)


def test_connections_that_were_all_lost_are_passed_over_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    pool = connection.pool
    assert pool is not None
    most = connection.settings_dict["OPTIONS"]["pool"]["max_size"]
    connection.close()
    held = [pool.getconn() for _ in range(most)]
    # All but the one that does it.
    others = [one.info.backend_pid for one in held[1:]]
    held[0].execute("SELECT pg_terminate_backend(pid) FROM unnest(%s::int[]) AS pid", [others])
    for one in held:
        pool.putconn(one)
    waited: list[float] = []
    monkeypatch.setattr("psycopg_pool.pool.sleep", waited.append)
    for _ in range(2 * most):
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
            assert cursor.fetchone() == (1,)
        connection.close()
    assert waited == []

"""Work of other threads, each over a database connection of its own."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

import pytest
from django.db import connection, transaction

from tests.patience import PATIENCE

T = TypeVar("T")


class KilledError(BaseException):
    """A process ends here. Not an Exception: no handler of the product may go on after it."""


@contextmanager
def killed_at_statement(number: int) -> Iterator[None]:
    """The process dies before its statement of this number to the database, from 0; never if it is below."""
    left = number

    def execute(call: Callable[..., T], sql: str, parameters: Any, many: bool, context: Any) -> T:
        nonlocal left
        # A test may run within a transaction, whose savepoints must be undone in order.
        if not sql.startswith(("SAVEPOINT", "RELEASE", "ROLLBACK")):
            left -= 1
            if left == -1:
                raise KilledError
        return call(sql, parameters, many, context)

    with connection.execute_wrapper(execute):
        yield


def at_once(*calls: Callable[[], T]) -> list[T]:
    """Run all calls at the same time. Returns what they return, in order; raises what one of them raises."""
    barrier = threading.Barrier(len(calls))

    def run(call: Callable[[], T]) -> T:
        try:
            barrier.wait(PATIENCE)
            return call()
        finally:
            connection.close()

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(run, calls, timeout=PATIENCE))


def in_thread(work: Callable[[], object]) -> threading.Thread:
    """Start `work` in another thread."""

    def run() -> None:
        try:
            work()
        finally:
            connection.close()

    thread = threading.Thread(target=run)
    thread.start()
    return thread


@contextmanager
def open_transaction(work: Callable[[], object]) -> Iterator[None]:
    """Another thread has done `work` in a transaction that ends with the block."""
    done, may_end = threading.Event(), threading.Event()

    def run() -> None:
        with transaction.atomic():
            work()
            done.set()
            assert may_end.wait(PATIENCE)

    thread = in_thread(run)
    assert done.wait(PATIENCE)
    try:
        yield
    finally:
        may_end.set()
        thread.join(PATIENCE)


class Pause:
    """A function waits here, the first time that it is called, until it may go on."""

    def __init__(self, patch: pytest.MonkeyPatch, owner: Any, name: str) -> None:
        self._reached, self._may_go_on = threading.Event(), threading.Event()
        function = getattr(owner, name)

        def paused(*arguments: Any, **options: Any) -> Any:
            if not self._reached.is_set():
                self._reached.set()
                assert self._may_go_on.wait(PATIENCE)
            return function(*arguments, **options)

        patch.setattr(owner, name, paused)

    def reached(self) -> None:
        """Wait until the function was called."""
        assert self._reached.wait(PATIENCE)

    def go_on(self) -> None:
        self._may_go_on.set()


@contextmanager
def short_lock_timeout() -> Iterator[None]:
    """On PostgreSQL, what waits for a lock fails after a second instead of waiting for ever."""
    with connection.cursor() as cursor:
        cursor.execute("SET lock_timeout = '1s'")
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            cursor.execute("SET lock_timeout = 0")


def waits_for_lock() -> bool:
    """Whether another connection to this database waits for a lock."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_stat_clear_snapshot()")  # it is kept within a transaction
        cursor.execute(
            "SELECT EXISTS (SELECT 1 FROM pg_stat_activity"
            " WHERE datname = current_database() AND wait_event_type = 'Lock')"
        )
        return bool(cursor.fetchone()[0])

"""Jobs of many threads, stored together: one transaction for all that came while the last one committed.

A commit costs as much for one row as for hundreds. So a thread that has something to store hands it to one
writer, waits until it is committed, and only then answers. Nothing is acknowledged until then.
"""

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, Generic, TypeVar

import structlog
from django.db import InterfaceError, OperationalError, connection

logger = structlog.get_logger(__name__)

Job = TypeVar("Job")
Outcome = TypeVar("Outcome")

MOST_TOGETHER = 500
"""Size of all jobs of one transaction; a larger job is stored alone."""

MOST_WAITING = 2_000
"""Jobs that wait, at most."""

COMPANY_SECONDS = 0.005
"""How long a job waits for those that are likely to come."""

IDLE_SECONDS = 1.0
"""After so long without a job, the writer lets go of its connection."""

HELD_SECONDS = 1.0
"""How long a job whose row another process holds is tried again: closing takes much less."""

HELD_PAUSE_SECONDS = 0.05
"""Between two attempts."""

LOCK_SECONDS = 10.0
"""How long a transaction of many jobs waits for any other lock; much longer than another group's takes."""


_serving = False


def serve() -> None:
    """Let this process store the jobs of its threads together: it serves requests."""
    global _serving
    _serving = True


def serves() -> bool:
    """Whether this process serves requests."""
    return _serving


class QueueFullError(Exception):
    """As many jobs wait as may; this one was not stored."""


class RowHeldError(Exception):
    """Another transaction holds the row under which a job would be stored; nothing of it was stored."""


def waits_bound() -> None:
    """Have the rest of this transaction wait for a lock `LOCK_SECONDS` at most, and then raise
    OperationalError: later callers wait with it. SQLite has a limit of its own."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute(f"SET LOCAL lock_timeout = {round(LOCK_SECONDS * 1_000)}")


class GroupCommit(Generic[Job, Outcome]):
    """One writer for the jobs of all threads of this process.

    Until `serve`, and within a transaction of the caller's, a job is stored at once in the caller's thread.

    Args:
        store: stores jobs in one transaction, and gives the outcome of each; an exception as outcome is
            raised in the thread that it belongs to. If it raises, it has stored nothing of any. It should not
            wait for a row that may be held for long, because every other job waits with it: RowHeldError lets
            one job wait alone.
        most_waiting: jobs beyond which `submit` refuses.
    """

    def __init__(
        self,
        store: Callable[[Sequence[Job]], Sequence[Outcome | Exception]],
        *,
        most_waiting: int = MOST_WAITING,
    ) -> None:
        self._store = store
        self._most_waiting = most_waiting
        self._queue: deque[_Waiting[Job, Outcome]] = deque()
        self._changed = threading.Condition(threading.Lock())
        self._writer: threading.Thread | None = None
        self._awaited = 1
        self._likely = 1
        self._forked_from = 0

    def submit(self, job: Job, size: int = 1) -> Outcome:
        """Store a job; returns once it is committed.

        Args:
            size: how much it is, measured by `MOST_TOGETHER`.

        Raises:
            QueueFullError: it was not stored.
            RowHeldError: the same, and for `HELD_SECONDS` it could not be.
            Exception: what `store` raised for this job, or gave as its outcome.
        """
        ends = time.monotonic() + HELD_SECONDS
        while True:
            try:
                return self._submit(job, size)
            except RowHeldError:
                if time.monotonic() >= ends:
                    raise
            # Here, not in the writer: the jobs of others go on.
            time.sleep(HELD_PAUSE_SECONDS)

    def _submit(self, job: Job, size: int) -> Outcome:
        if not _serving or connection.in_atomic_block:
            return _given(self._alone(job))
        waiting: _Waiting[Job, Outcome] = _Waiting(job, size)
        with self._changed:
            if len(self._queue) >= self._most_waiting:
                raise QueueFullError
            self._queue.append(waiting)
            if self._writer is None or self._forked_from != os.getpid():
                self._forked_from = os.getpid()
                self._writer = threading.Thread(target=self._write, name="group commit", daemon=True)
                self._writer.start()
            # Not for each job: waking the writer in vain costs more than a small job.
            if len(self._queue) >= self._awaited:
                self._changed.notify()
        waiting.wait()
        return _given(waiting.outcome)

    def _write(self) -> None:
        together: list[_Waiting[Job, Outcome]] = []
        try:
            while True:
                together = self._next()
                outcomes = self._together([waiting.job for waiting in together])
                # A client that gets its answer now may send its next request: alone, a job costs as much as
                # all of them.
                self._likely = len(together) + len(self._queue)
                _answer(together, outcomes)
                together = []
        except BaseException as error:
            # The interpreter ends, or a fault of ours: no thread may wait for one that is gone. The next job
            # starts another.
            logger.exception("group_commit_ended")
            with self._changed:
                self._writer = None
                left = [*together, *self._queue]
                self._queue.clear()
            _answer(left, _failures(f"the writer ended: {type(error).__name__}", len(left)))

    def _next(self) -> "list[_Waiting[Job, Outcome]]":
        with self._changed:
            if not self._came(1, IDLE_SECONDS):
                # Given back, so that one that died meanwhile is not used again.
                connection.close()
                self._came(1, None)
            self._came(min(self._likely, MOST_TOGETHER), COMPANY_SECONDS)
            together = [self._queue.popleft()]
            size = together[0].size
            while self._queue and size + self._queue[0].size <= MOST_TOGETHER:
                size += self._queue[0].size
                together.append(self._queue.popleft())
            return together

    def _came(self, number: int, seconds: float | None) -> bool:
        """Whether this many jobs wait within that time; the lock is held."""
        self._awaited = number
        return self._changed.wait_for(lambda: len(self._queue) >= number, seconds)

    def _together(self, jobs: Sequence[Job]) -> Sequence[Outcome | Exception]:
        try:
            return self._store(jobs)
        except (OperationalError, InterfaceError) as error:
            connection.close()
            kind = type(error) if isinstance(error, OperationalError) else OperationalError
            return _failures(str(error), len(jobs), kind)
        except Exception as error:
            if len(jobs) == 1:
                return [error]
            # One of them is at fault: the others are stored without it. A message of the database may quote
            # what it was sent.
            sqlstate = getattr(error.__cause__, "sqlstate", None)
            logger.error("group_commit_failed", jobs=len(jobs), error=type(error).__name__, sqlstate=sqlstate)
            return [self._alone(job) for job in jobs]

    def _alone(self, job: Job) -> Outcome | Exception:
        try:
            (outcome,) = self._store([job])
        except Exception as error:
            return error
        return outcome


class _Waiting(Generic[Job, Outcome]):
    """A job and the thread that waits for it."""

    __slots__ = ("_done", "follower", "job", "outcome", "size")

    def __init__(self, job: Job, size: int) -> None:
        self.job = job
        self.size = size
        self.outcome: Outcome | Exception = OperationalError("nothing was stored")
        self.follower: _Waiting[Job, Outcome] | None = None
        # Cheaper than an event by a third of what a small job costs.
        self._done = threading.Lock()
        self._done.acquire()

    def wait(self) -> None:
        """Until it is answered. Then the follower is: threads that all wake at once fight for the
        interpreter, at the cost of several checks each."""
        try:
            self._done.acquire()
        except BaseException:
            # Interrupted by a signal: the follower must be answered all the same.
            threading.Thread(target=self.wait, daemon=True).start()
            raise
        if self.follower is not None:
            self.follower.answer()

    def answer(self) -> None:
        """Let go on who waits, and then who waits for the follower."""
        self._done.release()


def _failures(
    message: str, number: int, kind: type[OperationalError] = OperationalError
) -> list[OperationalError]:
    """One for each thread: raising adds to what an exception holds, and all would log what all added."""
    return [kind(message) for _ in range(number)]


def _answer(together: "Sequence[_Waiting[Any, Any]]", outcomes: Sequence[Any]) -> None:
    for waiting, outcome in zip(together, outcomes, strict=True):
        waiting.outcome = outcome
    for waiting, follower in pairwise(together):
        waiting.follower = follower
    if together:
        together[0].answer()


def _given(outcome: Outcome | Exception) -> Outcome:
    if isinstance(outcome, Exception):
        raise outcome
    return outcome

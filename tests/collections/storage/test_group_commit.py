"""Jobs of many threads, stored together. Nothing here touches a database: what is stored is a list."""

import threading
import traceback
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import DataError, InterfaceError, OperationalError
from psycopg.errors import UntranslatableCharacter
from structlog.testing import capture_logs

from reports.object_store import StoreDownError
from storage import group_commit
from storage.group_commit import GroupCommit, QueueFullError, RowHeldError
from tests.patience import PATIENCE

Store = Callable[[Sequence[str]], Sequence[str | Exception]]


class Kept:
    """What was stored, by transaction; the first one waits until the others have come."""

    def __init__(self, store: Store) -> None:
        self.transactions: list[list[str]] = []
        self.begun, self.go_on = threading.Event(), threading.Event()
        self._store = store

    def __call__(self, jobs: Sequence[str]) -> Sequence[str | Exception]:
        self.begun.set()
        assert self.go_on.wait(PATIENCE)
        outcomes = self._store(jobs)
        self.transactions.append(list(jobs))
        return outcomes


def echo(jobs: Sequence[str]) -> list[str | Exception]:
    return [ValueError("refused") if job == "refused" else job for job in jobs]


@pytest.fixture(autouse=True)
def _serving(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group_commit, "_serving", True)
    # A job of these tests waits for the others as long as it takes.
    monkeypatch.setattr(group_commit, "COMPANY_SECONDS", 0.0)


def outcomes_of(kept: Kept, jobs: Sequence[str], **options: int) -> dict[str, str | Exception]:
    """What becomes of jobs that come while the first of them, "first", is being stored."""
    group: GroupCommit[str, str] = GroupCommit(kept, **options)

    def submit(job: str) -> str | Exception:
        try:
            return group.submit(job)
        except Exception as error:
            return error

    with ThreadPoolExecutor(len(jobs) + 1) as pool:
        first = pool.submit(submit, "first")
        assert kept.begun.wait(PATIENCE)
        others = {job: pool.submit(submit, job) for job in jobs}
        # Each of them waits, or was refused.
        while len(group._queue) + sum(made.done() for made in others.values()) < len(jobs):
            threading.Event().wait(0.001)
        kept.go_on.set()
        return {"first": first.result(PATIENCE)} | {
            job: made.result(PATIENCE) for job, made in others.items()
        }


def test_what_comes_during_a_commit_is_stored_together() -> None:
    kept = Kept(echo)
    outcomes = outcomes_of(kept, ["a", "b", "refused", "c"])
    assert [sorted(jobs) for jobs in kept.transactions] == [["first"], ["a", "b", "c", "refused"]]
    assert isinstance(outcomes.pop("refused"), ValueError)
    assert outcomes == {job: job for job in ("first", "a", "b", "c")}


def test_a_poisoned_job_takes_no_other_down_and_is_quoted_in_no_log() -> None:
    def store(jobs: Sequence[str]) -> Sequence[str]:
        if "poison" in jobs:
            raise DataError("invalid byte sequence: poison") from UntranslatableCharacter("poison")
        return jobs

    kept = Kept(store)
    with capture_logs() as logged:
        outcomes = outcomes_of(kept, ["a", "poison", "b"])
    assert isinstance(outcomes.pop("poison"), DataError)
    assert outcomes == {job: job for job in ("first", "a", "b")}
    assert sorted(job for jobs in kept.transactions for job in jobs) == ["a", "b", "first"]
    said = {"event": "group_commit_failed", "log_level": "error"}
    assert logged == [{**said, "jobs": 3, "error": "DataError", "sqlstate": "22P05"}]


@pytest.mark.parametrize("failure", [OperationalError, StoreDownError, InterfaceError, SystemExit])
def test_each_thread_gets_an_exception_of_its_own(failure: type[BaseException]) -> None:
    """Raised in many threads, one exception collects the frames of all, and every thread logs them all."""
    calls = iter([True, False])

    def store(jobs: Sequence[str]) -> Sequence[str]:
        if not next(calls):
            raise failure("the server closed the connection")
        return jobs

    outcomes = outcomes_of(Kept(store), ["a", "b", "c"])
    assert outcomes.pop("first") == "first"
    told = [outcome for outcome in outcomes.values() if isinstance(outcome, OperationalError)]
    # Of the same kind where that says more than that the database fails.
    kind = failure if issubclass(failure, OperationalError) else OperationalError
    assert {type(outcome) for outcome in told} == {kind}
    assert len({id(error) for error in told}) == len(outcomes) == 3
    frames = {len(traceback.extract_tb(error.__traceback__)) for error in told}
    assert frames == {4}, "the test's own, both that submit, and what raises"


def test_a_thread_that_is_interrupted_keeps_no_other_waiting() -> None:
    """Each that was answered wakes the next: the chain must hold where one of them has left."""

    class Interrupting:
        def __init__(self, lock: threading.Lock) -> None:
            self.lock, self.interrupts = lock, True

        def acquire(self) -> None:
            if self.interrupts:
                self.interrupts = False
                raise KeyboardInterrupt
            self.lock.acquire()

        def release(self) -> None:
            self.lock.release()

    jobs = [group_commit._Waiting[str, str](name, 1) for name in "abc"]
    jobs[1]._done = Interrupting(jobs[1]._done)  # type: ignore[assignment]  # stands for a lock
    with pytest.raises(KeyboardInterrupt):
        jobs[1].wait()
    with ThreadPoolExecutor(2) as pool:
        others = [pool.submit(job.wait) for job in (jobs[0], jobs[2])]
        group_commit._answer(jobs, ["A", "B", "C"])
        for other in others:
            other.result(PATIENCE)


def test_a_full_queue_refuses_at_once() -> None:
    outcomes = outcomes_of(Kept(echo), ["a", "b", "c", "d"], most_waiting=2)
    refused = [job for job, outcome in outcomes.items() if isinstance(outcome, QueueFullError)]
    assert len(refused) == 2
    assert "first" not in refused


def test_a_writer_that_ended_is_answered_for_and_followed_by_another() -> None:
    ends = iter([True, False])

    def store(jobs: Sequence[str]) -> Sequence[str]:
        if next(ends):
            raise SystemExit
        return jobs

    group: GroupCommit[str, str] = GroupCommit(store)
    with pytest.raises(OperationalError):
        group.submit("a")
    assert group.submit("b") == "b"


def test_a_process_without_requests_stores_in_the_asking_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group_commit, "_serving", False)
    threads: list[threading.Thread] = []

    def store(jobs: Sequence[str]) -> Sequence[str]:
        threads.append(threading.current_thread())
        return jobs

    assert GroupCommit(store).submit("a") == "a"
    assert threads == [threading.current_thread()]


def test_a_job_whose_row_is_held_waits_alone_and_for_a_bounded_time(monkeypatch: pytest.MonkeyPatch) -> None:
    free = threading.Event()

    def store(jobs: Sequence[str]) -> Sequence[str | Exception]:
        return [RowHeldError() if job == "held" and not free.is_set() else job for job in jobs]

    group: GroupCommit[str, str] = GroupCommit(store)
    monkeypatch.setattr(group_commit, "HELD_SECONDS", PATIENCE)
    with ThreadPoolExecutor(1) as pool:
        held = pool.submit(group.submit, "held")
        for job in "abc":
            assert group.submit(job) == job
        assert not held.done()
        free.set()
        assert held.result(PATIENCE) == "held"
    free.clear()
    monkeypatch.setattr(group_commit, "HELD_SECONDS", 0.0)
    with pytest.raises(RowHeldError):
        group.submit("held")

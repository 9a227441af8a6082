"""Periodic tasks: of each kind at most one waits and at most one runs, as a row in the database records.

Beat claims the row before it sends, and the message carries the claim. A message may be lost, and a worker
killed. So a message that no worker takes up is sent again, ever more rarely, and the former is passed over. A
worker renews the row while it runs the task; when that ends, the next one may run.
"""

import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from typing import Any

import structlog
from celery import Task
from django.db import Error, connection
from django.db.models import F, Q, QuerySet

from storage import clock
from storage.models import PeriodicRun
from storage.waits import wait_after

logger = structlog.get_logger(__name__)

FIRST_WAIT = timedelta(seconds=10)
"""Time after which a message that no worker took up is taken for lost. The wait doubles with each one: if no
worker runs, a queue grows by nine messages of a kind in an hour, and then by one an hour."""

LONGEST_WAIT = timedelta(hours=1)

LEASE = timedelta(seconds=15)
"""Time for which a task is believed to run after its worker's last sign of life."""

RENEW_SECONDS = 4.0


class PeriodicTask(Task):  # type: ignore[type-arg]  # what runs it needs no types of its arguments
    """A task without arguments that beat sends, or another periodic task. A worker passes over what is not
    its turn."""

    typing = False  # `claim` is for this class, and no argument of the function

    def send(self) -> None:
        """Have it run, unless it waits or runs already."""
        claim = periodic_claim(name=self.name)
        if claim is None:
            return
        try:
            self.delay(claim=claim)
        except Exception:
            periodic_unclaim(name=self.name, claim=claim)
            raise

    def __call__(self, claim: str | None = None) -> None:
        if self.request.called_directly:
            self.run()
            return
        with periodic_turn(name=self.name, claim=claim) as ours:
            if ours:
                self.run()


def periodic_claim(*, name: str) -> str | None:
    """Have one more of these tasks sent: None if one waits or runs already. It waits from this moment on.

    Returns:
        What the message must carry, as `claim`.
    """
    now, row = clock.database_now(), _row(name)
    claimable = PeriodicRun.objects.filter(
        _over("queued_until", now, LONGEST_WAIT), _over("running_until", now, LEASE), name=name
    )
    # Checked before locking: usually there is nothing to do.
    if not claimable.exists():
        return None
    claim = uuid.uuid4()
    wait = wait_after(row.unanswered, first=FIRST_WAIT, longest=LONGEST_WAIT)
    claimed = claimable.update(queued=claim, queued_until=now + wait, unanswered=F("unanswered") + 1)
    return str(claim) if claimed else None


def periodic_unclaim(*, name: str, claim: str) -> None:
    """It could not be sent, so nothing waits."""
    PeriodicRun.objects.filter(name=name, queued=claim).update(**_UNQUEUED)


def periodic_forget() -> None:
    """Nothing waits or runs, as when beat begins anew. What does all the same is harmless."""
    PeriodicRun.objects.update(**_UNQUEUED, **_IDLE)


def periodic_unqueue() -> None:
    """Nothing waits, as when a worker begins: what was sent while none ran may be lost. If it is not, it is
    passed over."""
    PeriodicRun.objects.exclude(queued=None).update(**_UNQUEUED)


@contextmanager
def periodic_turn(*, name: str, claim: str | None = None) -> Iterator[bool]:
    """Run a task of this kind within the block if it yields true: then no other worker does.

    Args:
        claim: of the message; None for one that was sent without a claim, which counts unless a task runs.
    """
    _row(name)
    runner, now = uuid.uuid4(), clock.database_now()
    free = PeriodicRun.objects.filter(_over("running_until", now, LEASE), name=name)
    if claim is not None:
        free = free.filter(queued=claim)
    if not free.update(**_UNQUEUED, running_until=now + LEASE, runner=runner):
        yield False
        return
    ended = threading.Event()
    renewing = threading.Thread(target=_renew, args=(name, runner, ended), daemon=True)
    renewing.start()
    try:
        yield True
    finally:
        ended.set()
        renewing.join()
        with suppress(Error):  # then the lease runs out
            _run_of(name, runner).update(**_IDLE)


def _renew(name: str, runner: uuid.UUID, ended: threading.Event) -> None:
    while not ended.wait(RENEW_SECONDS):
        try:
            _run_of(name, runner).update(running_until=clock.database_now() + LEASE)
        except Error as error:
            logger.warning("periodic_task_not_renewed", task=name, error=type(error).__name__)
        finally:
            connection.close()  # this thread's own


_UNQUEUED: dict[str, Any] = {"queued": None, "queued_until": None, "unanswered": 0}
_IDLE: dict[str, Any] = {"runner": None, "running_until": None}


def _row(name: str) -> PeriodicRun:
    return PeriodicRun.objects.get_or_create(name=name)[0]


def _run_of(name: str, runner: uuid.UUID) -> QuerySet[PeriodicRun]:
    return PeriodicRun.objects.filter(name=name, runner=runner)


def _over(field: str, now: datetime, longest: timedelta) -> Q:
    """Whether a time is over. One that is more than twice the longest off is from a clock that was set back;
    one that is hardly more than the longest off, from a process that read the clock a moment later."""
    return Q(**{field: None}) | Q(**{f"{field}__lte": now}) | Q(**{f"{field}__gt": now + 2 * longest})

"""Periodic tasks: of each kind at most one waits and at most one runs, as a row in the database records.

Beat claims the row before it sends, and the message carries the claim (`turns`).
"""

from collections.abc import Iterator
from contextlib import contextmanager

from celery import Task
from django.db.models import QuerySet

from storage import clock
from storage.models import PeriodicRun
from storage.turns import IDLE, UNQUEUED, row_turn, rows_claim


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
    claim, claimed = rows_claim(_row(name), clock.database_now())
    return str(claim) if claimed else None


def periodic_unclaim(*, name: str, claim: str) -> None:
    """It could not be sent, so nothing waits."""
    PeriodicRun.objects.filter(name=name, queued=claim).update(**UNQUEUED)


def periodic_forget() -> None:
    """Nothing waits or runs, as when beat begins anew. What does all the same is harmless."""
    PeriodicRun.objects.update(**UNQUEUED, **IDLE)


def periodic_unqueue() -> None:
    """Nothing waits, as when a worker begins: what was sent while none ran may be lost. If it is not, it is
    passed over."""
    PeriodicRun.objects.exclude(queued=None).update(**UNQUEUED)


@contextmanager
def periodic_turn(*, name: str, claim: str | None = None) -> Iterator[bool]:
    """Run a task of this kind within the block if it yields true: then no other worker does.

    Args:
        claim: of the message; None for one that was sent without a claim, which counts unless a task runs.
    """
    with row_turn(_row(name), name=name, claim=claim) as runner:
        yield runner is not None


def _row(name: str) -> QuerySet[PeriodicRun]:
    PeriodicRun.objects.get_or_create(name=name)
    return PeriodicRun.objects.filter(name=name)

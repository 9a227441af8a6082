"""Each row has at most one message that waits and one worker that runs.

The sender claims the row first, and the message carries the claim. A message may be lost, and a worker
killed. So a message that no worker takes up is sent again, ever more rarely, and the former is passed over. A
worker renews the row while it works; when that ends, the next message counts.
"""

import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from typing import Any

import structlog
from django.db import Error, connection
from django.db.models import F, Q, QuerySet

from storage import clock
from storage.waits import wait_after

logger = structlog.get_logger(__name__)

FIRST_WAIT = timedelta(seconds=10)
"""Time after which a message that no worker took up is taken for lost. The wait doubles with each one: if no
worker runs, a queue grows by nine messages of a kind in an hour, and then by one an hour."""

LONGEST_WAIT = timedelta(hours=1)

LEASE = timedelta(seconds=15)
"""Time for which a row is believed to be worked on after its worker's last sign of life."""

RENEW_SECONDS = 4.0

UNQUEUED: dict[str, Any] = {"queued": None, "queued_until": None, "unanswered": 0}
IDLE: dict[str, Any] = {"runner": None, "running_until": None}


def time_is_over(field: str, now: datetime, longest: timedelta) -> Q:
    """Whether a time is over. One that is more than twice the longest off is from a clock that was set back;
    one that is hardly more than the longest off, from a process that read the clock a moment later."""
    return Q(**{field: None}) | Q(**{f"{field}__lte": now}) | Q(**{f"{field}__gt": now + 2 * longest})


def free_rows(rows: QuerySet[Any], now: datetime, longest: timedelta = LONGEST_WAIT) -> QuerySet[Any]:
    """Those rows of `storage.models.Turns` for which no message waits and no worker runs.

    Args:
        longest: as of `rows_claim`.
    """
    return rows.filter(time_is_over("queued_until", now, longest), time_is_over("running_until", now, LEASE))


def rows_claim(
    rows: QuerySet[Any],
    now: datetime,
    *,
    first: timedelta = FIRST_WAIT,
    longest: timedelta = LONGEST_WAIT,
    most: int | None = None,
) -> tuple[uuid.UUID, list[Any]]:
    """Claim those that are free: a message is to be sent for each. It waits from this moment on.

    Args:
        rows: in their order.
        first, longest: time after which the first message is taken for lost, and most of it after others.
        most: claim no more than these.

    Returns:
        The claim that the messages must carry, and the keys of the rows that have it.
    """
    claim = uuid.uuid4()
    unanswered: dict[int, list[Any]] = {}
    for key, number in free_rows(rows, now, longest).values_list("pk", "unanswered")[:most]:
        unanswered.setdefault(number, []).append(key)
    claimed: list[Any] = []
    everything = rows.model._default_manager
    for number, keys in unanswered.items():
        wait = wait_after(number, first=first, longest=longest)
        # Asked again: another process may have claimed one in the meantime.
        changed = free_rows(everything.filter(pk__in=keys), now, longest).update(
            queued=claim, queued_until=now + wait, unanswered=F("unanswered") + 1
        )
        ours = everything.filter(pk__in=keys, queued=claim).values_list("pk", flat=True)
        claimed += keys if changed == len(keys) else ours
    return claim, claimed


@contextmanager
def row_turn(
    rows: QuerySet[Any], *, name: str, claim: str | None = None, **changes: Any
) -> Iterator[uuid.UUID | None]:
    """Work on a row within the block if it yields the number of the run: then no other worker does.

    Args:
        rows: the one row.
        name: of what is done, for the log.
        claim: of the message; None for one that was sent without a claim, which counts unless a worker runs.
        changes: to the row, with the beginning of the run.
    """
    runner, now = uuid.uuid4(), clock.database_now()
    free = rows.filter(time_is_over("running_until", now, LEASE))
    if claim is not None:
        free = free.filter(queued=claim)
    if not free.update(**UNQUEUED, running_until=now + LEASE, runner=runner, **changes):
        yield None
        return
    ours = rows.filter(runner=runner)
    ended = threading.Event()
    renewing = threading.Thread(target=_renew, args=(name, ours, ended), daemon=True)
    renewing.start()
    try:
        yield runner
    finally:
        ended.set()
        renewing.join()
        with suppress(Error):  # then the lease runs out
            ours.update(**IDLE)


def _renew(name: str, ours: QuerySet[Any], ended: threading.Event) -> None:
    while not ended.wait(RENEW_SECONDS):
        try:
            ours.update(running_until=clock.database_now() + LEASE)
        except Error as error:
            logger.warning("periodic_task_not_renewed", task=name, error=type(error).__name__)
        finally:
            connection.close()  # this thread's own

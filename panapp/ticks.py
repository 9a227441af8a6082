"""What beat sends, and when: by a clock that cannot be set, and never what still waits or runs.

Celery's own scheduler uses the time of day. Set back by an hour, it sends nothing for an hour. And tasks
expire by the worker's clock, at a time that beat's clock set: if the clocks differ, all tasks expire.
"""

import time
from datetime import UTC, datetime
from typing import Any

from celery.beat import ScheduleEntry, Scheduler
from celery.schedules import schedule


def every(seconds: float) -> schedule:
    """A schedule by the machine's steady clock, for `TickScheduler`."""
    return schedule(seconds, nowfun=_steady_now)


class TickScheduler(Scheduler):
    """Sends what is due, unless it waits or runs according to the database (`storage.periodic`). It keeps no
    file: a steady clock starts anew with the machine."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._is_new = True

    def apply_async(self, entry: ScheduleEntry, *args: Any, **options: Any) -> Any:
        """As Celery's; None if nothing was sent."""
        # Settings are read before there are apps, and they name this module.
        from django.db import close_old_connections, connection

        from storage.periodic import periodic_claim, periodic_forget, periodic_unclaim

        if not connection.in_atomic_block:
            close_old_connections()  # one that was lost is not asked again
        if self._is_new:
            periodic_forget()
            self._is_new = False
        name = str(entry.task)
        claim = periodic_claim(name=name)
        if claim is None:
            return None
        entry.kwargs = {"claim": claim}
        try:
            return super().apply_async(entry, *args, **options)
        except Exception:
            periodic_unclaim(name=name, claim=claim)
            raise


def _steady_now() -> datetime:
    """Not the time, but a value that advances as steadily."""
    return datetime.fromtimestamp(time.monotonic(), UTC)

"""What beat sends, and when: by a clock that nobody sets, and never more than workers can take.

Celery's own scheduler goes by the time of day. Set back by an hour, it sends nothing for an hour. And tasks
that expire do so by the worker's clock, at a time of beat's: where those differ, all of them do.
"""

import time
from datetime import UTC, datetime
from typing import Any

from celery.beat import ScheduleEntry, Scheduler
from celery.schedules import schedule

MOST_WAITING = 10
"""Periodic tasks that wait in one queue; a backlog of them would do nothing that the next one does not do."""


def every(seconds: float) -> schedule:
    """A schedule by the machine's steady clock, for `TickScheduler`."""
    return schedule(seconds, nowfun=_steady_now)


class TickScheduler(Scheduler):
    """Sends what is due, but nothing to a queue of ticks in which `MOST_WAITING` tasks wait. It keeps no
    file: a steady clock starts anew with the machine."""

    def apply_async(self, entry: ScheduleEntry, *args: Any, **options: Any) -> Any:
        """As Celery's; None where nothing was sent."""
        if self._waiting(entry) >= MOST_WAITING:
            return None
        return super().apply_async(entry, *args, **options)

    def _waiting(self, entry: ScheduleEntry) -> int:
        from django.conf import settings

        queue = self.app.amqp.router.route({}, str(entry.task))["queue"]
        # The others hold what ticks found to do, however much that is.
        if queue.name != settings.ADVANCE_QUEUE:
            return 0
        count: int = queue.bind(self.producer.channel).queue_declare().message_count
        return count


def _steady_now() -> datetime:
    """Not the time, but something that goes on as steadily."""
    return datetime.fromtimestamp(time.monotonic(), UTC)

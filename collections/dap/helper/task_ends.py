"""How tasks and keys end: by the leader's request, or when their time is over.

The helper has no worker and no scheduler. What is due is done whenever a key or a task is registered, and by
`manage.py helper_upkeep`, for a daily timer.
"""

from datetime import UTC, datetime, timedelta

from django.conf import settings
from django.db import transaction

from dap.helper.actions import TASK_ENDED
from dap.helper.models import ReleasedShare, ShareKey
from dap.helper.partitions import ANSWERS
from dap.hpke_keys import HPKE_KEYS
from dap.models import Side, Task
from dap.operations import configuration_of, task_end, task_remains_delete
from dap.selectors import is_any_collected
from log.audit.operations import entry_append
from panprivacy.formats.times import format_time
from partners.ohttp.gateway.keys import GATEWAY_KEYS
from storage.erasable_keys import old_keys_erase
from storage.erasure import log_truncate_on_commit
from storage.partitions import partitions_upkeep
from storage.sealing import secrets_delete

UNUSED_KEY_LIFETIME = timedelta(days=1)
"""For which a key waits for its recipe to be published."""

REASON_LENGTH = 200
LAST_YEAR = datetime(9000, 1, 1, tzinfo=UTC)
"""A task whose reports may have any later date has no end."""


def helper_task_end(*, task: Task, reason: str, now: datetime) -> None:
    """Delete keys, shares, answers and report identifiers of a task; counts and the outcome stay.

    Idempotent, and may be interrupted: `upkeep` continues with the rest.

    Args:
        reason: why, in words.
    """
    with transaction.atomic():
        ended_now = task_end(task=task, outcome=reason[:REASON_LENGTH], now=now)
        if ended_now:
            entry_append(
                action=TASK_ENDED,
                subject=bytes(task.task_id).hex(),
                actor=None,
                # No count: it may be one of fewer devices than may ever be spoken about.
                details={"reason": reason[:REASON_LENGTH], "collected": is_any_collected(task)},
            )
    _remains_delete(task)
    log_truncate_on_commit()


def upkeep(*, now: datetime) -> None:
    """Delete what expired: keys that no recipe used, keys of clients after their grace period, tasks whose
    time was over long ago, and what an interrupted end left behind.

    Raises:
        KeysNotErasedError: files of keys could not be erased; everything else is done.
    """
    secrets_delete(ShareKey.objects.filter(created_at__lte=now - UNUSED_KEY_LIFETIME), "sealed")
    for ring in (HPKE_KEYS, GATEWAY_KEYS):
        ring.expire(now=now)
    for task in Task.objects.filter(side=Side.HELPER).exclude(state=Task.State.ENDED).order_by("pk"):
        over_at = expires_at(task)
        if over_at is not None and over_at <= now:
            reason = f"It was not ended; the helper deleted its keys {format_time(now)}."
            helper_task_end(task=task, reason=reason, now=now)
    ReleasedShare.objects.filter(task__side=Side.HELPER, task__state=Task.State.ENDED).delete()
    partitions_upkeep()
    log_truncate_on_commit()
    old_keys_erase()


def expires_at(task: Task) -> datetime | None:
    """When the helper ends a task by itself: a fixed time after the last time that a report may have, or
    after its registration if that is later. None if reports may have any time."""
    configuration = configuration_of(task)
    interval = configuration.task_interval
    if interval is None:
        return None
    seconds = interval.end * configuration.time_precision
    if seconds > LAST_YEAR.timestamp():
        return None
    last = max(datetime.fromtimestamp(seconds, UTC), task.created_at)
    return last + timedelta(seconds=settings.TASK_RETENTION_SECONDS)


def _remains_delete(task: Task) -> None:
    task_remains_delete(task=task)
    ANSWERS.clear(task.pk)
    ReleasedShare.objects.filter(task=task).delete()

"""Notifies the helper that a task has ended, until the helper has acknowledged it."""

from datetime import datetime

from dap.leader.exchange import exchange_failed
from dap.leader.models import EndNotice
from dap.models import Task
from dap.operations import dialect_of, task_remains_delete
from partners.client import PeerRefusedError, PeerUnavailableError
from partners.helper_calls import task_end_at_helper
from partners.partner import Partner


def end_notice_owe(*, task: Task, reason: str, now: datetime) -> None:
    """Have the helper notified why the task has ended; call it in the transaction that ends it. The first
    reason stays."""
    EndNotice.objects.get_or_create(task=task, defaults={"reason": reason[:300], "send_after": now})


def end_notice_drive(*, task: Task, partner: Partner, now: datetime) -> None:
    """Notify the helper. Does nothing if it knows. May run at any time, twice at once, or die anywhere."""
    row = EndNotice.objects.select_related("task").filter(task=task).first()
    if row is None:
        return
    if row.task.state == Task.State.ENDED:
        task_remains_delete(task=row.task)
    try:
        if dialect_of(row.task).is_signed:  # another helper has no address for it: its operator ends the task
            task_end_at_helper(partner, task_id=bytes(row.task.task_id), reason=row.reason)
    except (PeerUnavailableError, PeerRefusedError) as error:
        exchange_failed(row, error=str(error), now=now)
        return
    EndNotice.objects.filter(pk=row.pk).delete()

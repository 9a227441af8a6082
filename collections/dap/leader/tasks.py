"""Tasks carry identifiers only; each is safe to run at any time, even twice."""

import uuid
from contextlib import suppress

from celery import shared_task

from dap.errors import TaskEndedError
from dap.leader.aggregation import aggregation_job_drive
from dap.leader.collection import collection_job_drive
from dap.leader.end_notices import end_notice_drive
from dap.leader.models import AggregationJob, CollectionJob, EndNotice, Exchange
from dap.leader.peers import partner_of, peer_of
from dap.leader.periodic_check import tasks_advance
from dap.leader.registrations import registrations_call_off
from storage import clock
from storage.periodic import PeriodicTask


@shared_task(base=PeriodicTask)
def advance_tasks() -> None:
    """Bring every task of the leader one step on, and send what is due to the workers."""
    # Asked first: what is put off until that time is due by the other.
    settled = clock.settled_now()
    due = tasks_advance(now=clock.database_now(), settled=settled)
    until = due.until.isoformat()
    for aggregation_job in due.aggregation_jobs:
        drive_aggregation_job.delay(str(aggregation_job), until)
    for collection_job in due.collection_jobs:
        drive_collection_job.delay(str(collection_job), until)
    for task in due.end_notices:
        drive_end_notice.delay(task, until)


def _is_newest(row: Exchange, until: str | None) -> bool:
    """Whether a task is the one that was sent for the row's last lease. Those that no worker took up in time
    were sent anew, and the old ones would only pile up before a helper that does not answer."""
    return until is None or row.send_after.isoformat() == until


# `until` names the lease. A time at which tasks expire would be by the clocks of two machines.
@shared_task
def drive_aggregation_job(job: str, until: str | None = None) -> None:
    """Verify the reports of one job with the helper."""
    row = AggregationJob.objects.select_related("task").defer("request", "states").filter(pk=job).first()
    if row is not None and _is_newest(row, until):
        with suppress(TaskEndedError):  # the job was deleted with its task
            aggregation_job_drive(job=uuid.UUID(job), peer=peer_of(row.task), now=clock.database_now())


@shared_task
def drive_collection_job(job: str, until: str | None = None) -> None:
    """Ask the helper for its share of one batch."""
    row = CollectionJob.objects.select_related("task").filter(pk=job).first()
    if row is not None and _is_newest(row, until):
        with suppress(TaskEndedError):
            collection_job_drive(job=uuid.UUID(job), peer=peer_of(row.task), now=clock.database_now())


@shared_task
def drive_end_notice(task: int, until: str | None = None) -> None:
    """Notify the helper that a task has ended."""
    notice = EndNotice.objects.select_related("task").filter(task=task).first()
    if notice is not None and _is_newest(notice, until):
        end_notice_drive(task=notice.task, partner=partner_of(notice.task), now=clock.database_now())


@shared_task(base=PeriodicTask)
def call_off_registrations() -> None:
    """Notify helpers of tasks that were registered and not begun."""
    registrations_call_off(now=clock.settled_now())

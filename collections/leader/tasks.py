"""Tasks carry identifiers only; each is safe to run at any time, twice."""

import uuid

from celery import shared_task
from django.conf import settings
from django.utils import timezone

from dap.models import Task
from leader.advancing import tasks_advance
from leader.aggregating import aggregation_job_drive
from leader.collecting import collection_job_drive
from leader.end_notices import end_notice_drive
from leader.models import AggregationJob, CollectionJob
from leader.peers import partner_of, peer_of
from leader.registrations import registrations_call_off

LEASE_SECONDS = settings.CHUNK_STALE_SECONDS
"""For which requests that are due are handed out. Tasks that nobody took up within it are sent anew, so that
the old ones would only pile up before a helper that does not answer."""


@shared_task
def advance_tasks() -> None:
    """Bring every task of the leader one step on, and send what is due to the workers."""
    due = tasks_advance(now=timezone.now())
    for aggregation_job in due.aggregation_jobs:
        drive_aggregation_job.delay(str(aggregation_job))
    for collection_job in due.collection_jobs:
        drive_collection_job.delay(str(collection_job))
    for task in due.end_notices:
        drive_end_notice.delay(task)


@shared_task(expires=LEASE_SECONDS)
def drive_aggregation_job(job: str) -> None:
    """Verify the reports of one job with the helper."""
    row = AggregationJob.objects.select_related("task").defer("request", "states").filter(pk=job).first()
    if row is not None:
        aggregation_job_drive(job=uuid.UUID(job), peer=peer_of(row.task), now=timezone.now())


@shared_task(expires=LEASE_SECONDS)
def drive_collection_job(job: str) -> None:
    """Ask the helper for its share of one batch."""
    row = CollectionJob.objects.select_related("task").filter(pk=job).first()
    if row is not None:
        collection_job_drive(job=uuid.UUID(job), peer=peer_of(row.task), now=timezone.now())


# The name is the one that installations have queued.
@shared_task(name="leader.tasks.drive_farewell", expires=LEASE_SECONDS)
def drive_end_notice(task: int) -> None:
    """Tell the helper that a task has ended."""
    row = Task.objects.get(pk=task)
    end_notice_drive(task=row, partner=partner_of(row), now=timezone.now())


@shared_task
def call_off_registrations() -> None:
    """Tell helpers what was registered and not begun."""
    registrations_call_off(now=timezone.now())

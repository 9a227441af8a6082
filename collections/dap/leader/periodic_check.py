"""The periodic check of everything that the leader has to do.

Reads only the database, so any process can run it at any time, even twice.
"""

import uuid
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import structlog
from django.conf import settings
from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from dap.hpke_keys import HPKE_KEYS
from dap.leader.aggregation import aggregation_jobs_plan
from dap.leader.collection import collection_job_advance, collection_job_create
from dap.leader.models import AggregationJob, CollectionJob, Collector, EndNotice, Uploads
from dap.leader.selectors import is_collected_by_itself, is_refused
from dap.models import HpkeKey, Side, Task
from dap.operations import configuration_of
from panprivacy.protocols.dap.collection import CollectionJobReq, Query

logger = structlog.get_logger(__name__)

UPLOAD_TIME = timedelta(hours=1)
"""For which a key is kept after its grace period: longer than an upload takes from reading the keys to being
stored, which checks that the key exists."""

MOST_AT_ONCE = 1_000
"""Requests of one kind that one check hands out."""

DELETED_UPLOADS = 10_000
"""Most uploads of a refused task that one check deletes."""

DELETED_BYTES = 512 * 1024 * 1024
"""After which it deletes no further one. The cost is that of their bytes if uploads are large."""


@dataclass(frozen=True)
class Due:
    """The work that is due, each item for the worker that takes it up.

    Attributes:
        aggregation_jobs, collection_jobs: for `aggregation_job_drive` and `collection_job_drive`.
        end_notices: primary keys of tasks, for `end_notice_drive`.
        until: the end of the lease.
    """

    aggregation_jobs: tuple[uuid.UUID, ...]
    collection_jobs: tuple[uuid.UUID, ...]
    end_notices: tuple[int, ...]
    until: datetime


def tasks_advance(*, now: datetime, settled: datetime | None = None, only: Task | None = None) -> Due:
    """Bring every task one step on, as far as the database alone allows: plan jobs, begin collections,
    take batches.

    Args:
        settled: the time by which keys are deleted and collections given up; `now` by default.
        only: check this task alone.

    Returns:
        The requests to the helper that are due. Each is leased: not handed out again for a while.
    """
    settled = now if settled is None else settled
    _keys_expire(settled)
    tasks = Task.objects.filter(side=Side.LEADER)
    if only is not None:
        tasks = tasks.filter(pk=only.pk)
    for task in tasks.exclude(state=Task.State.ENDED).filter(_has_work()).order_by("pk"):
        try:
            _advance(task, settled)
        except Exception:
            # One task that cannot be advanced must not hold up all others.
            logger.exception("task_not_advanced", task=str(task))
    asking = CollectionJob.objects.filter(state=CollectionJob.State.ASKING)
    until = now + timedelta(seconds=settings.CHUNK_STALE_SECONDS)
    return Due(
        aggregation_jobs=_lease(AggregationJob.objects.filter(task__in=tasks), now, until),
        collection_jobs=_lease(asking.filter(task__in=tasks), now, until),
        end_notices=_lease(EndNotice.objects.filter(task__in=tasks), now, until),
        until=until,
    )


def _keys_expire(now: datetime) -> None:
    """Delete retired HPKE keys, but none that opens a report which was taken in: it may wait for others, for
    workers or for its time, and was acknowledged."""
    if HpkeKey.objects.exclude(retired_at=None).exists():
        sealed_to = Uploads.objects.order_by().values_list("config_ids", flat=True).distinct()
        needed = frozenset(config_id for config_ids in sealed_to for config_id in bytes(config_ids))
        HPKE_KEYS.expire(now=now - UPLOAD_TIME, needed=needed)


def _has_work() -> Q:
    """Tasks with reports to plan, a collection that waits for its batch, or one that is due by itself, or has
    left uploads: idle tasks, which most are most of the time, cost nothing."""
    here = {"task": OuterRef("pk")}
    collections = CollectionJob.objects.filter(**here)
    collected_on_close = Collector.objects.filter(**here, collects_on_close=True)
    to_collect = ~Q(Exists(collections)) | Q(Exists(Uploads.objects.filter(**here)))
    return (
        Q(Exists(Uploads.objects.filter(**here, job=None)))
        | Q(Exists(collections.filter(state=CollectionJob.State.WAITING)))
        | (Q(state=Task.State.CLOSED) & Q(Exists(collected_on_close)) & to_collect)
    )


def _advance(task: Task, now: datetime) -> None:
    if is_refused(task=task):
        _delete_part(Uploads.objects.filter(task=task))
        return
    if task.state == Task.State.CLOSED and is_collected_by_itself(task=task):
        _collect_all(task, now)
    aggregation_jobs_plan(task=task, now=now)
    waiting = CollectionJob.objects.filter(task=task, state=CollectionJob.State.WAITING)
    for job in waiting.select_related("task"):
        collection_job_advance(job=job, now=now)


def _delete_part(uploads: QuerySet[Uploads]) -> None:
    """Delete some of the uploads of a refused task, in one statement. They may be millions, and other tasks
    wait for the end of this check: the rest is left to the next."""
    keys, bytes_ = [], 0
    for key, size in uploads.order_by("pk").values_list("pk", "size")[:DELETED_UPLOADS]:
        if bytes_ >= DELETED_BYTES:
            break
        keys.append(key)
        bytes_ += size
    uploads.filter(pk__in=keys).delete()


def _collect_all(task: Task, now: datetime) -> None:
    if CollectionJob.objects.filter(task=task).exists():
        return
    interval = configuration_of(task).task_interval
    if interval is None:
        raise ValueError("a task that is collected by itself must say which times its reports have")
    query = Query.of_interval(interval)
    collection_job_create(task=task, request=CollectionJobReq(query), now=now)


@transaction.atomic
def _lease(rows: QuerySet[Any], now: datetime, until: datetime) -> tuple[Any, ...]:
    """Keys of requests that are due. None is handed out again until a crash would have shown."""
    due = (
        rows.select_for_update(skip_locked=True, of=("self",))
        .filter(send_after__lte=now)
        .order_by("send_after")
    )
    keys = tuple(due.values_list("pk", flat=True)[:MOST_AT_ONCE])
    rows.filter(pk__in=keys).update(send_after=until)
    return keys

"""The same work by several workers at once, with transactions of their own."""

import pytest
from django.db import connection

from dap.leader.aggregation import aggregation_jobs_plan
from dap.leader.collection import collection_job_advance, collection_job_drive
from dap.leader.models import AggregationJob, CollectionJob, Uploads
from dap.leader.periodic_check import tasks_advance
from dap.leader.results import TaskResult
from dap.leader.uploads import reports_upload
from dap.models import BatchBucket, Task
from dap.operations import task_close
from storage import group_commit
from storage.group_commit import RowHeldError
from tests.collections.dap.leader.scene import Pair
from tests.concurrency import at_once, open_transaction, short_lock_timeout

pytestmark = pytest.mark.django_db(transaction=True)


def test_jobs_driven_by_four_workers_at_once_count_every_report_once() -> None:
    pair = Pair()
    for _ in range(3):
        pair.upload(0, 1, 2)
    (job,) = aggregation_jobs_plan(task=pair.task, now=pair.now)
    at_once(*[lambda: pair.drive(job)] * 4)
    assert pair.counts() == (9, 9)
    assert len({body for _, _, body in pair.network.requests}) == 1
    assert not AggregationJob.objects.exists()


def test_jobs_planned_by_several_at_once_take_every_upload_once() -> None:
    pair = Pair()
    for _ in range(4):
        pair.upload(0, 1, 2)
    at_once(*[lambda: aggregation_jobs_plan(task=pair.task, now=pair.now)] * 4)
    assert sum(AggregationJob.objects.values_list("count", flat=True)) == 12
    assert not Uploads.objects.filter(job=None).exists()


def test_due_requests_are_handed_to_one_worker_each() -> None:
    pair = Pair()
    pair.upload(0, 1, 2)
    aggregation_jobs_plan(task=pair.task, now=pair.now)
    handed: list[object] = []
    at_once(*[lambda: handed.extend(tasks_advance(now=pair.now).aggregation_jobs)] * 4)
    assert len(handed) == 1


def test_same_upload_many_times_at_once_is_stored_once() -> None:
    pair = Pair()
    reports = [pair.report(i % 4) for i in range(40)]
    orders = [reports, list(reversed(reports)), reports[20:] + reports[:20], reports]
    at_once(*[lambda o=o: reports_upload(task=pair.task, reports=o, now=pair.now) for o in orders])
    assert sum(Uploads.objects.values_list("count", flat=True)) == 40


def test_reports_acknowledged_while_the_task_closes_are_all_in_the_result() -> None:
    pair = Pair()
    pair.upload(0, 0, 0)
    batches = [[pair.report(1) for _ in range(5)] for _ in range(6)]
    acknowledged: list[int] = []

    def upload(batch: list) -> None:
        rejected = reports_upload(task=pair.task, reports=batch, now=pair.now)
        acknowledged.append(len(batch) - len(rejected))

    at_once(*[lambda b=b: upload(b) for b in batches], lambda: task_close(task=pair.task))
    pair.task.refresh_from_db()
    job = pair.collect()
    pair.settle(3)
    assert pair.collected(job).report_count == 3 + sum(acknowledged)


def test_batch_taken_by_several_at_once_is_taken_and_answered_once() -> None:
    pair = Pair()
    pair.upload(0, 1, 2)
    pair.settle(1)
    job = pair.collect()
    row = CollectionJob.objects.select_related("task").get(pk=job.pk)
    at_once(*[lambda: collection_job_advance(job=row, now=pair.now)] * 4)
    assert BatchBucket.objects.filter(collected=True).count() == 1
    at_once(*[lambda: collection_job_drive(job=job.pk, peer=pair.partner.client(), now=pair.now)] * 4)
    assert pair.collected(job).values == (1, 1, 1, 0)


def test_uploads_jobs_and_collection_at_once_lose_and_double_nothing() -> None:
    pair = Pair()
    pair.upload(0, 0, 0)
    job = pair.collect()
    batches = [[pair.report(1) for _ in range(3)] for _ in range(8)]
    accepted: list[int] = []

    def upload(part: list) -> None:
        for batch in part:
            rejected = reports_upload(task=pair.task, reports=batch, now=pair.now)
            accepted.append(len(batch) - len(rejected))

    def work() -> None:
        for _ in range(6):
            due = tasks_advance(now=pair.now)
            for each in due.aggregation_jobs:
                pair.drive(each)
            for each in due.collection_jobs:
                collection_job_drive(job=each, peer=pair.partner.client(), now=pair.now)

    at_once(lambda: upload(batches[:4]), lambda: upload(batches[4:]), work, work)
    pair.close()
    pair.settle(4)
    result = pair.result(job)
    assert isinstance(result, TaskResult)
    leader, helper = pair.counts()
    late = pair.rejections()["leader"].get("batch_collected", 0)
    waiting = sum(Uploads.objects.values_list("count", flat=True))
    refused = 24 - sum(accepted)
    assert leader == helper == result.report_count
    # Every report is in the result, or was said to be late; of a closed task's rest nothing is opened.
    assert leader + late + waiting == 3 + 24
    assert result.values[0] == 3
    assert refused <= late


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has one writer at a time")
def test_upload_does_not_wait_for_a_lock_on_its_task(monkeypatch: pytest.MonkeyPatch) -> None:
    """All uploads of a process have one writer: if it waited, those to every task would."""
    monkeypatch.setattr(group_commit, "HELD_SECONDS", 0.0)
    pair = Pair()
    reports = [pair.report(0)]
    with (
        open_transaction(lambda: Task.objects.select_for_update().get(pk=pair.task.pk)),
        short_lock_timeout(),
        pytest.raises(RowHeldError),
    ):
        reports_upload(task=pair.task, reports=reports, now=pair.now)
    assert not Uploads.objects.exists()
    assert reports_upload(task=pair.task, reports=reports, now=pair.now) == []
    assert Uploads.objects.get().count == 1

"""The same work by several workers at once, with transactions of their own."""

import threading
from collections.abc import Callable

import pytest
from django.db import connection, transaction

from dap.models import BatchBucket, Task
from dap.operations import task_close
from leader.advancing import tasks_advance
from leader.aggregating import aggregation_jobs_plan
from leader.collecting import collection_job_advance, collection_job_drive
from leader.models import AggregationJob, CollectionJob, Uploads
from leader.results import TaskResult
from leader.uploads import reports_upload
from storage import group_commit
from storage.group_commit import RowHeldError
from tests.collections.leader.pair import Pair
from tests.patience import PATIENCE

pytestmark = pytest.mark.django_db(transaction=True)


def at_once(*works: Callable[[], object]) -> None:
    """Run each in a thread of its own, all let go at the same moment; raise what any of them raises."""
    barrier = threading.Barrier(len(works))
    errors: list[BaseException] = []

    def run(work: Callable[[], object]) -> None:
        try:
            barrier.wait(PATIENCE)
            work()
        except BaseException as error:  # handed to the test
            errors.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert not any(thread.is_alive() for thread in threads), "they wait for each other"
    if errors:
        raise errors[0]


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
    result = pair.result(job)
    assert isinstance(result, TaskResult)
    assert result.report_count == 3 + sum(acknowledged)


def test_batch_taken_by_several_at_once_is_taken_and_answered_once() -> None:
    pair = Pair()
    pair.upload(0, 1, 2)
    pair.settle(1)
    job = pair.collect()
    row = CollectionJob.objects.select_related("task").get(pk=job.pk)
    at_once(*[lambda: collection_job_advance(job=row, now=pair.now)] * 4)
    assert BatchBucket.objects.filter(collected=True).count() == 1
    at_once(*[lambda: collection_job_drive(job=job.pk, peer=pair.partner.client(), now=pair.now)] * 4)
    result = pair.result(job)
    assert isinstance(result, TaskResult)
    assert result.values == (1, 1, 1, 0)


def test_uploads_planning_driving_and_collecting_at_once_lose_and_double_nothing() -> None:
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


def test_upload_waits_for_nobody_who_holds_its_task(monkeypatch: pytest.MonkeyPatch) -> None:
    """All uploads of a process have one writer: where it waited, those to every task would."""
    if connection.vendor != "postgresql":
        pytest.skip("SQLite has one writer at a time")
    monkeypatch.setattr(group_commit, "HELD_SECONDS", 0.0)
    pair = Pair()
    reports = [pair.report(0)]
    holding, may_end = threading.Event(), threading.Event()

    def hold() -> None:
        with transaction.atomic():
            Task.objects.select_for_update().get(pk=pair.task.pk)
            holding.set()
            assert may_end.wait(PATIENCE)

    def upload() -> None:
        assert holding.wait(PATIENCE)
        try:
            with connection.cursor() as cursor:
                # Where it did wait, it fails instead of never ending.
                cursor.execute("SET lock_timeout = '1s'")
            with pytest.raises(RowHeldError):
                reports_upload(task=pair.task, reports=reports, now=pair.now)
        finally:
            may_end.set()
            with connection.cursor() as cursor:
                # The pool gives this connection to others.
                cursor.execute("SET lock_timeout = 0")

    at_once(hold, upload)
    assert not Uploads.objects.exists()
    assert reports_upload(task=pair.task, reports=reports, now=pair.now) == []
    assert Uploads.objects.get().count == 1

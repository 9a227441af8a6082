"""Collections: a batch once; both shares, or a refusal that both sides can see."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from unittest.mock import Mock, patch

import pytest
from django.db import connection
from django.db.models import Max, QuerySet

from dap.errors import TaskEndedError
from dap.hpke_keys import HPKE_KEYS
from dap.leader import periodic_check
from dap.leader.aggregation import aggregation_jobs_plan
from dap.leader.collection import collection_job_create, collection_job_delete
from dap.leader.errors import CollectionRefusedError
from dap.leader.models import AggregationJob, CollectionJob, Collector, EndNotice, Planning, Uploads
from dap.leader.operations import task_end, task_lose
from dap.leader.periodic_check import tasks_advance
from dap.leader.results import Refusal, TaskResult, task_result
from dap.leader.uploads import reports_upload
from dap.models import AggregatedReport, BatchBucket, CollectedInterval, HpkeKey, Task
from panprivacy.protocols.dap.basics import BatchMode, Extension, Interval, ReportError
from panprivacy.protocols.dap.collection import CollectionJobReq, Query
from panprivacy.protocols.dap.vdafs import Prio3SumConfig
from panprivacy.protocols.prio3.field import FIELD64
from storage.partitions import partitions_upkeep
from tests.collections.dap.leader.scene import (
    CLOCK,
    DOCUMENT,
    FAULTS,
    HOUR,
    Answer,
    Fault,
    KilledError,
    Pair,
    lost_answer,
    lost_request,
)

pytestmark = pytest.mark.django_db


def recipe_pair(min_batch_size: int = 3) -> Pair:
    """A task that is collected by itself when it closes, as a recipe's is."""
    return Pair(min_batch_size=min_batch_size, interval=Interval(HOUR, 1), document=DOCUMENT)


def interval(start: int, duration: int) -> CollectionJobReq:
    return CollectionJobReq(Query.of_interval(Interval(start, duration)))


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_collect_after_a_fault_of_the_share_request_ends_with_the_result(fault: Fault) -> None:
    pair = Pair()
    pair.upload(0, 1, 2)
    pair.settle(2)
    job = pair.collect()
    pair.network.requests.clear()
    pair.network.faults.append(fault)
    pair.settle(4)
    result = pair.collected(job)
    assert (result.values, result.report_count, result.interval) == ((1, 1, 1, 0), 3, Interval(HOUR, 1))
    asked = {body for _, url, body in pair.network.requests if url.endswith("aggregate_shares")}
    assert len(asked) == 1


def test_collect_of_too_few_waits_for_more_until_its_interval_is_over() -> None:
    pair = Pair(min_batch_size=3)
    pair.upload(0, 1)
    job = pair.collect()
    pair.ticks(5)
    assert pair.result(job) is None
    CLOCK.now += timedelta(hours=2)
    pair.settle(2)
    assert pair.refused(job).problem == "invalidBatchSize"
    late = pair.report(2, time=HOUR)
    assert reports_upload(task=pair.task, reports=[late], now=pair.now) == []
    assert pair.collect(Interval(HOUR, 1)).pk == job.pk
    pair.settle(2)
    pair.collected(job)


def test_collect_while_more_reports_keep_coming_does_not_wait_for_them() -> None:
    pair = Pair(min_batch_size=3)
    pair.upload(0, 1, 2)
    job = pair.collect()
    for _ in range(6):
        pair.tick()
        reports_upload(task=pair.task, reports=[pair.report(3), pair.report(3)], now=pair.now)
        if job.state == CollectionJob.State.READY:
            break
        job.refresh_from_db()
    assert pair.collected(job).values == (1, 1, 1, 0)


def test_report_that_comes_after_the_collection_is_refused_and_counted() -> None:
    pair = Pair()
    pair.upload(0, 1, 2)
    job = pair.collect()
    stored_before = pair.report(3)
    pair.ticks(2)
    reports_upload(task=pair.task, reports=[stored_before], now=pair.now)
    pair.ticks(3)
    pair.collected(job)
    (status,) = reports_upload(task=pair.task, reports=[pair.report(3)], now=pair.now)
    assert status.error is ReportError.REPORT_REPLAYED
    CLOCK.now += timedelta(hours=1)
    pair.settle(2)
    assert pair.rejections()["leader"]["batch_collected"] >= 1
    assert pair.counts() == (3, 3)


def test_collect_of_an_interval_with_a_gap_closes_the_gap() -> None:
    pair = Pair()
    reports = [pair.report(bucket, time=HOUR - 4 + bucket) for bucket in (0, 2, 3)]
    reports_upload(task=pair.task, reports=reports, now=pair.now)
    job = pair.collect(Interval(HOUR - 4, 4))
    pair.settle(3)
    pair.collected(job)
    (status,) = reports_upload(task=pair.task, reports=[pair.report(1, time=HOUR - 3)], now=pair.now)
    assert status.error is ReportError.REPORT_REPLAYED


COLLECTED = interval(HOUR, 1).query


@pytest.mark.parametrize(
    ("request_", "problem"),
    [
        (CollectionJobReq(Query.of_next_batch()), "invalidMessage"),
        (interval(HOUR, 0), "batchInvalid"),
        (interval(2**64 - 1, 2), "batchInvalid"),
        (CollectionJobReq(COLLECTED, agg_param=b"x"), "invalidAggregationParameter"),
        (CollectionJobReq(COLLECTED, extensions=(Extension(9, b""),)), "unsupportedExtension"),
        (interval(HOUR, 5), "batchOverlap"),
    ],
)
def test_create_with_an_impossible_query_is_refused(request_: CollectionJobReq, problem: str) -> None:
    pair = Pair()
    CollectedInterval.objects.create(task=pair.task, start=HOUR, end=HOUR + 1)
    with pytest.raises(CollectionRefusedError) as refused:
        collection_job_create(task=pair.task, request=request_, now=pair.now)
    assert refused.value.problem == problem
    assert not CollectionJob.objects.exists()


def test_batch_is_collected_once_whatever_overlaps_dies_or_is_deleted() -> None:
    pair = Pair()
    pair.upload(0, 1, 2)
    jobs = [pair.collect(), pair.collect(Interval(HOUR - 1, 3))]
    with (
        patch("dap.leader.collection.seal_aggregate_share", side_effect=KilledError),
        pytest.raises(KilledError),
    ):
        pair.settle(3)
    assert not BatchBucket.objects.filter(collected=True).exists()
    pair.settle(3)
    results = sorted(map(pair.result, jobs), key=lambda result: type(result).__name__)
    assert [type(result) for result in results] == [Refusal, TaskResult]
    assert results[0].problem == "batchOverlap"
    for job in jobs:
        collection_job_delete(job=job)
        job.refresh_from_db()
        assert (job.response, job.leader_share) == (None, None)
    with pytest.raises(CollectionRefusedError):
        pair.collect()


def test_sides_that_disagree_end_in_a_refusal_with_the_words_of_the_helper() -> None:
    pair = Pair()
    pair.upload(0, 1, 2)
    pair.settle(2)
    # Were a report lost on one side, this is how it would show.
    BatchBucket.objects.filter(task=pair.helper_task).update(report_count=4)
    job = pair.collect()
    pair.settle(2)
    refusal = pair.refused(job)
    assert refusal.problem == "batchMismatch"
    assert "Leader and helper did not count the same reports." in refusal.detail


def test_leader_selected_batches_are_collected_one_after_the_other() -> None:
    pair = Pair(batch_mode=BatchMode.LEADER_SELECTED, min_batch_size=2)
    pair.upload(0)
    first = pair.collect()
    pair.settle(3)
    assert pair.result(first) is None, "there are too few"
    pair.upload(1)
    pair.settle(3)
    assert pair.collected(first).values == (1, 1, 0, 0)
    pair.upload(2, 3)
    assert pair.collect().pk == first.pk  # the same query is the same job, until it is deleted
    collection_job_delete(job=first)
    second = pair.collect()
    pair.settle(3)
    assert pair.collected(second).values == (0, 0, 1, 1)
    collection_job_delete(job=second)
    pair.upload(0)
    third = pair.collect()
    pair.close()
    pair.settle(1)
    assert pair.refused(third).problem == "invalidBatchSize"
    assert len({bytes(bucket.identifier) for bucket in BatchBucket.objects.filter(task=pair.task)}) == 2


def chosen_and_deleted(pair: Pair) -> bytes:
    """The batch of a job that was deleted when it had chosen one and waited for the rest of its reports."""
    pair.upload(0, 1)
    pair.settle(1)
    pair.upload(0)
    CLOCK.now += timedelta(hours=1)
    pair.network.faults.extend([lost_request] * 2)
    job = pair.collect()
    pair.tick()
    pair.tick()
    job.refresh_from_db()
    assert job.state == CollectionJob.State.WAITING
    assert job.batch_id is not None
    batch_id = bytes(job.batch_id)
    collection_job_delete(job=job)
    job.refresh_from_db()
    assert job.batch_id is None
    return batch_id


@pytest.mark.parametrize("another_is_open", [False, True])
def test_delete_of_a_job_with_a_batch_leaves_it_to_the_next(another_is_open: bool) -> None:
    pair = Pair(batch_mode=BatchMode.LEADER_SELECTED, min_batch_size=2)
    batch_id = chosen_and_deleted(pair)
    batches = [(2, 1, 0, 0)]
    if another_is_open:
        # As a job left it that chose in between.
        Planning.objects.filter(task=pair.task).update(batch_id=None)
        pair.upload(2, 3)
        pair.settle(2)
        assert bytes(Planning.objects.get(task=pair.task).batch_id) != batch_id
        batches.append((0, 0, 1, 1))
    for values in batches:
        job = pair.collect()
        pair.settle(4)
        assert pair.collected(job).values == values
        collection_job_delete(job=job)
    assert not BatchBucket.objects.filter(task=pair.task, collected=False).exists()


@pytest.mark.parametrize("forged", [0, 1])
def test_close_with_too_few_good_reports_is_refused_on_both_sides(forged: int) -> None:
    """Reports that are too few before any is opened are not opened."""
    pair = recipe_pair(min_batch_size=3)
    with pytest.raises(CollectionRefusedError, match="once it takes no more reports") as refused:
        pair.collect()
    assert refused.value.problem == "batchInvalid"
    pair.upload(0, 1)
    reports_upload(task=pair.task, reports=[pair.forged()] * forged, now=pair.now)
    assert pair.result() is None
    pair.close()
    pair.network.faults.extend([] if forged else [lost_request, lost_answer])
    pair.settle(5)
    refusal = pair.refused()
    assert refusal.problem == "invalidBatchSize"
    assert (pair.helper_task.state, pair.helper_task.outcome) == (Task.State.ENDED, refusal.detail)
    assert pair.rejections()["helper"] == ({"vdaf_verify_error": 1} if forged else {})
    assert not EndNotice.objects.exists()
    assert BatchBucket.objects.exists() == bool(forged)


def test_close_with_too_few_reports_leaves_no_job_that_was_on_its_way() -> None:
    pair = recipe_pair(min_batch_size=3)
    pair.upload(0, 1)
    pair.network.faults.extend([lost_request] * 2)
    CLOCK.now += timedelta(hours=1)
    pair.settle(1)
    assert AggregationJob.objects.exists()
    pair.close()
    pair.settle(4)
    refusal = task_result(pair.task)
    assert isinstance(refusal, Refusal)
    assert pair.helper_task.outcome == refusal.detail
    assert not AggregationJob.objects.exists()
    assert not Uploads.objects.exists()
    assert pair.rejections() == {"leader": {}, "helper": {}}


def refused_with_uploads(*counts: int) -> list[Pair]:
    """Recipes' tasks whose helper is gone, each with so many rows of uploads that were there by then."""
    pairs = [recipe_pair(min_batch_size=3) for _ in counts]
    for pair, count in zip(pairs, counts, strict=True):
        for _ in range(count):
            pair.upload(0)
        task_lose(task=pair.task, words="it is gone")
    pairs[0].settle(1)
    for pair in pairs:
        pair.refused()
        pair.task.refresh_from_db()
    return pairs


def left(pair: Pair) -> int:
    return Uploads.objects.filter(task=pair.task).count()


def test_refusal_leaves_uploads_to_later_polls_and_opens_none() -> None:
    (pair,) = refused_with_uploads(5)
    assert left(pair) == 5
    Uploads.objects.filter(task=pair.task).update(job=None)
    # Enough for a batch, but for none that will be collected.
    assert aggregation_jobs_plan(task=pair.task, now=pair.now) == []
    pair.settle(1)
    assert (left(pair), AggregationJob.objects.count()) == (0, 0)


@pytest.mark.parametrize("limit", ["rows", "bytes"])
def test_poll_deletes_a_part_of_each_refused_task_only(monkeypatch: pytest.MonkeyPatch, limit: str) -> None:
    """There may be millions, and every other task waits for the end of a look. A death leaves the rest to
    another look."""
    large, small = refused_with_uploads(5, 1)
    if limit == "rows":
        monkeypatch.setattr(periodic_check, "DELETED_UPLOADS", 2)
    else:
        size = Uploads.objects.filter(task=large.task).aggregate(most=Max("size"))["most"]
        monkeypatch.setattr(periodic_check, "DELETED_BYTES", size + 1)
    tasks_advance(now=large.now)
    assert (left(large), left(small)) == (3, 0)
    with monkeypatch.context() as dying, pytest.raises(KilledError):
        dying.setattr(QuerySet, "delete", Mock(side_effect=KilledError))
        tasks_advance(now=large.now)
    assert left(large) == 3
    remaining = []
    for _ in range(3):
        tasks_advance(now=large.now)
        remaining.append(left(large))
    assert remaining == [1, 0, 0]


def test_poll_deletes_one_upload_that_is_beyond_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(periodic_check, "DELETED_BYTES", 1)
    (pair,) = refused_with_uploads(2)
    tasks_advance(now=pair.now)
    assert left(pair) == 1


@pytest.mark.parametrize(("state", "kept"), [(Task.State.OPEN, 3), (Task.State.CLOSED, 0)])
def test_refused_job_costs_a_recipe_its_uploads_only_once_it_is_closed(state: Task.State, kept: int) -> None:
    """However such a job came to be: what was acknowledged is not deleted while reports come in."""
    pair = recipe_pair(min_batch_size=9)
    for bucket in (0, 1, 2):
        pair.upload(bucket)
    CollectionJob.objects.create(
        task=pair.task,
        request=b"",
        digest=bytes(32),
        start=HOUR,
        end=HOUR + 1,
        state=CollectionJob.State.FAILED,
        problem="invalidBatchSize",
        send_after=pair.now,
    )
    Task.objects.filter(pk=pair.task.pk).update(state=state)
    tasks_advance(now=pair.now)
    assert left(pair) == kept


@pytest.mark.django_db(transaction=True)
def test_end_deletes_reports_keys_and_results_and_keeps_counts() -> None:
    pair = recipe_pair()
    pair.upload(0, 1, 2)
    pair.close()
    pair.settle(3)
    pair.network.faults.extend([lost_answer, lost_request])
    task_end(task=pair.task, reason="the result is released", now=pair.now)
    task_end(task=pair.task, reason="again", now=pair.now)
    pair.settle(4)
    for side in (Task.objects.get(pk=pair.task.pk), pair.helper_task):
        assert (side.state, side.verify_key, side.outcome) == (
            Task.State.ENDED,
            None,
            "the result is released",
        )
    for model in (Uploads, AggregationJob, CollectionJob, Collector, EndNotice, AggregatedReport):
        assert not model.objects.exists(), model
    assert pair.counts() == (3, 3)
    kept = BatchBucket.objects.values_list("first_time", "last_time", "checksum", "aggregate_share")
    assert [(*times, bytes(checksum), bytes(share)) for *times, checksum, share in kept] == [
        (None, None, b"", b"")
    ] * 2
    assert task_result(pair.task) is None
    with pytest.raises(TaskEndedError):
        pair.collect()


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has no partitions")
def test_partitions_come_with_a_task_and_are_dropped_after_its_end() -> None:
    pair, other = Pair(), Pair()
    for each in (pair, other):
        each.upload(0, 1, 2)
        each.settle(1)
        each.upload(3)
    partitions_upkeep()
    assert (partitions(pair), partitions(other)) == (4, 4)
    task_end(task=pair.task, reason="ended", now=pair.now)
    pair.settle(2)
    partitions_upkeep()
    assert (partitions(pair), partitions(other)) == (0, 4)
    assert AggregatedReport.objects.filter(task=other.task).count() == 4


def partitions(pair: Pair) -> int:
    """How many partitions the two halves of a task have, of the four that there may be."""
    ours, theirs = pair.task.pk, pair.helper_task.pk
    reports = [f"dap_aggregatedreport_{ours}", f"dap_aggregatedreport_{theirs}"]
    names = [*reports, f"leader_uploads_{ours}", f"helper_aggregationjob_{theirs}"]
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_class WHERE relispartition AND relname = ANY (%s)", [names])
        (found,) = cursor.fetchone()
    return int(found)


@pytest.mark.django_db(transaction=True)
def test_end_while_a_job_is_on_its_way_leaves_nothing_behind() -> None:
    pair = Pair()
    pair.upload(0, 1, 2)

    def ended_meanwhile(send: Callable[[], Answer]) -> Answer:
        answer = send()
        task_end(task=pair.task, reason="ended", now=pair.now)
        return answer

    pair.network.faults.append(ended_meanwhile)
    pair.settle(3)
    assert pair.counts()[0] == 0
    assert not AggregationJob.objects.exists()
    assert not Uploads.objects.exists()


def test_uploads_do_not_outlive_the_key_that_opens_them() -> None:
    pair = Pair(min_batch_size=3)
    pair.upload(0)
    HPKE_KEYS.rotate(now=pair.now)
    for _ in range(15):
        CLOCK.now += timedelta(days=1)
        pair.tick()
    assert HpkeKey.objects.count() == 2
    assert pair.counts() == (1, 1)


def test_report_taken_just_before_its_key_is_over_counts(settings: Any) -> None:
    pair = Pair(min_batch_size=3)
    report = pair.report(0)
    HPKE_KEYS.rotate(now=pair.now)
    CLOCK.now += timedelta(seconds=settings.HPKE_GRACE_SECONDS - 1)
    # Acknowledged at the last moment, and planned so much later that the key is over.
    assert reports_upload(task=pair.task, reports=[report], now=pair.now) == []
    CLOCK.now += timedelta(hours=2)
    with patch("dap.leader.periodic_check.aggregation_jobs_plan"):
        pair.tick()
    assert HpkeKey.objects.count() == 3
    pair.settle(2)
    assert pair.counts() == (1, 1)
    assert HpkeKey.objects.count() == 2


def test_key_outlives_an_upload_that_is_underway_at_its_end(settings: Any) -> None:
    pair = Pair(min_batch_size=3)
    report = pair.report(0)
    HPKE_KEYS.rotate(now=pair.now)
    looked_at = pair.now + timedelta(seconds=settings.HPKE_GRACE_SECONDS - 1)
    CLOCK.now = looked_at + timedelta(minutes=5)
    pair.tick()
    assert reports_upload(task=pair.task, reports=[report], now=looked_at) == []
    CLOCK.now += timedelta(hours=2)
    with patch("dap.leader.periodic_check.aggregation_jobs_plan"):
        pair.tick()
    assert HpkeKey.objects.count() == 3


LARGEST = (FIELD64.modulus - 1) // 3
"""Three measurements of this size have a sum in the field; of four, only what is left of it."""


def test_collect_of_more_reports_than_the_field_can_sum_is_refused() -> None:
    """Sums that wrapped round would look like any other."""
    pair = Pair(vdaf=(2, Prio3SumConfig(LARGEST).encode()), min_batch_size=3)
    hour = pair.time
    for time in (hour - 1, hour):
        reports = [pair.report(LARGEST, time=time) for _ in range(3)]
        assert reports_upload(task=pair.task, reports=reports, now=pair.now) == []
    both, latter = pair.collect(Interval(hour - 1, 2)), pair.collect(Interval(hour, 1))
    pair.settle(3)
    refusal = pair.refused(both)
    assert refusal.problem == "batchInvalid"
    assert "more than 3 reports may have wrapped round" in refusal.detail
    assert pair.collected(latter).values == (3 * LARGEST,)
    assert BatchBucket.objects.filter(task=pair.task, collected=True).count() == 1

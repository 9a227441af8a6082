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
from dap.models import AggregatedReport, BatchBucket, HpkeKey, Task
from leader import advancing
from leader.advancing import tasks_advance
from leader.aggregating import aggregation_jobs_plan
from leader.collecting import collection_job_create, collection_job_delete
from leader.errors import CollectionRefusedError
from leader.models import AggregationJob, CollectionJob, Collector, EndNotice, Planning, Uploads
from leader.operations import task_end, task_lose
from leader.results import Refusal, TaskResult, task_result
from leader.uploads import reports_upload
from panprivacy.dap.basics import BatchMode, Extension, Interval, ReportError
from panprivacy.dap.collection import CollectionJobReq, Query
from storage.partitions import partitions_upkeep
from tests.collections.leader.pair import (
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


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_collect_after_a_fault_of_the_share_request_ends_with_the_result(fault: Fault) -> None:
    pair = Pair()
    pair.upload(0, 1, 2)
    pair.settle(2)
    job = pair.collect()
    pair.network.requests.clear()
    pair.network.faults.append(fault)
    pair.settle(4)
    result = pair.result(job)
    assert isinstance(result, TaskResult)
    assert (result.values, result.report_count, result.interval) == ((1, 1, 1, 0), 3, Interval(HOUR, 1))
    asked = {body for _, url, body in pair.network.requests if url.endswith("aggregate_shares")}
    assert len(asked) == 1


def test_collect_before_its_reports_are_verified_waits_for_them() -> None:
    pair = Pair()
    pair.upload(0, 1, 2)
    pair.network.faults.extend([lost_request] * 3)
    job = pair.collect()
    pair.settle(2)
    job.refresh_from_db()
    assert job.state == CollectionJob.State.WAITING
    pair.settle(4)
    assert isinstance(pair.result(job), TaskResult)


def test_collect_of_an_open_task_below_the_smallest_batch_waits_for_more() -> None:
    pair = Pair(min_batch_size=3)
    pair.upload(0, 1)
    job = pair.collect()
    for _ in range(5):
        pair.tick()
    assert pair.result(job) is None
    pair.upload(2)
    for _ in range(5):
        pair.tick()
    result = pair.result(job)
    assert isinstance(result, TaskResult)
    assert result.report_count == 3


def test_collect_of_an_interval_that_is_over_below_the_smallest_batch_is_refused_and_may_begin_anew() -> None:
    pair = Pair(min_batch_size=3)
    pair.upload(0, 1)
    job = pair.collect()
    CLOCK.now += timedelta(hours=2)
    pair.settle(2)
    refusal = pair.result(job)
    assert isinstance(refusal, Refusal)
    assert refusal.problem == "invalidBatchSize"
    late = pair.report(2, time=HOUR)
    assert reports_upload(task=pair.task, reports=[late], now=pair.now) == []
    assert pair.collect(Interval(HOUR, 1)).pk == job.pk
    pair.settle(2)
    assert isinstance(pair.result(job), TaskResult)


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
    result = pair.result(job)
    assert isinstance(result, TaskResult)
    assert result.values == (1, 1, 1, 0)


def test_report_that_comes_after_the_collection_is_refused_and_counted() -> None:
    pair = Pair()
    pair.upload(0, 1, 2)
    job = pair.collect()
    stored_before = pair.report(3)
    pair.settle(0)
    for _ in range(2):
        pair.tick()
    reports_upload(task=pair.task, reports=[stored_before], now=pair.now)
    for _ in range(3):
        pair.tick()
    assert isinstance(pair.result(job), TaskResult)
    (status,) = reports_upload(task=pair.task, reports=[pair.report(3)], now=pair.now)
    assert status.error is ReportError.REPORT_REPLAYED
    CLOCK.now += timedelta(hours=1)
    pair.settle(2)
    assert pair.rejections()["leader"]["batch_collected"] >= 1
    assert pair.counts() == (3, 3)


def test_collect_of_a_batch_of_a_gap_refuses_reports_for_the_gap_afterwards() -> None:
    pair = Pair()
    reports = [pair.report(bucket, time=HOUR - 4 + bucket) for bucket in (0, 2, 3)]
    reports_upload(task=pair.task, reports=reports, now=pair.now)
    job = pair.collect(Interval(HOUR - 4, 4))
    pair.settle(3)
    assert isinstance(pair.result(job), TaskResult)
    (status,) = reports_upload(task=pair.task, reports=[pair.report(1, time=HOUR - 3)], now=pair.now)
    assert status.error is ReportError.REPORT_REPLAYED


@pytest.mark.parametrize(
    ("request_", "problem"),
    [
        (CollectionJobReq(Query.of_next_batch()), "invalidMessage"),
        (CollectionJobReq(Query.of_interval(Interval(HOUR, 0))), "batchInvalid"),
        (CollectionJobReq(Query.of_interval(Interval(2**64 - 1, 2))), "batchInvalid"),
        (
            CollectionJobReq(Query.of_interval(Interval(HOUR, 1)), agg_param=b"x"),
            "invalidAggregationParameter",
        ),
        (
            CollectionJobReq(Query.of_interval(Interval(HOUR, 1)), extensions=(Extension(9, b""),)),
            "unsupportedExtension",
        ),
    ],
)
def test_create_with_an_impossible_query_is_refused(request_: CollectionJobReq, problem: str) -> None:
    pair = Pair()
    with pytest.raises(CollectionRefusedError) as refused:
        collection_job_create(task=pair.task, request=request_, now=pair.now)
    assert refused.value.problem == problem
    assert not CollectionJob.objects.exists()


def test_create_of_the_same_request_is_the_same_job() -> None:
    pair = Pair()
    assert pair.collect().pk == pair.collect().pk


def test_create_over_a_collected_interval_is_refused_as_overlap_also_where_both_wait() -> None:
    pair = Pair()
    pair.upload(0, 1, 2)
    first, second = pair.collect(), pair.collect(Interval(HOUR - 1, 3))
    pair.settle(3)
    results = [pair.result(first), pair.result(second)]
    assert sorted(type(result).__name__ for result in results) == ["Refusal", "TaskResult"]
    (refusal,) = [result for result in results if isinstance(result, Refusal)]
    assert refusal.problem == "batchOverlap"
    with pytest.raises(CollectionRefusedError) as refused:
        pair.collect(Interval(HOUR, 5))
    assert refused.value.problem == "batchOverlap"


def test_delete_forgets_the_result_and_leaves_the_batch_collected() -> None:
    pair = Pair()
    pair.upload(0, 1, 2)
    job = pair.collect()
    pair.settle(3)
    collection_job_delete(job=job)
    job.refresh_from_db()
    assert (job.response, job.leader_share) == (None, None)
    with pytest.raises(CollectionRefusedError):
        pair.collect(Interval(HOUR, 1))


def test_take_killed_in_the_middle_takes_the_batch_once_when_tried_again() -> None:
    pair = Pair()
    pair.upload(0, 1, 2)
    pair.settle(1)
    job = pair.collect()
    with patch("leader.collecting.seal_aggregate_share", side_effect=KilledError), pytest.raises(KilledError):
        pair.tick()
    assert not BatchBucket.objects.filter(collected=True).exists()
    pair.settle(3)
    assert isinstance(pair.result(job), TaskResult)


def test_sides_that_disagree_end_in_a_refusal_with_the_words_of_the_helper() -> None:
    pair = Pair()
    pair.upload(0, 1, 2)
    pair.settle(2)
    # Were a report lost on one side, this is how it would show.
    BatchBucket.objects.filter(task=pair.helper_task).update(report_count=4)
    job = pair.collect()
    pair.settle(2)
    refusal = pair.result(job)
    assert isinstance(refusal, Refusal)
    assert refusal.problem == "batchMismatch"
    assert "Leader and helper did not count the same reports." in refusal.detail


def test_leader_selected_batches_are_collected_one_after_the_other() -> None:
    pair = Pair(batch_mode=BatchMode.LEADER_SELECTED, min_batch_size=2)
    pair.upload(0, 1)
    first = pair.collect()
    pair.settle(3)
    result = pair.result(first)
    assert isinstance(result, TaskResult)
    assert result.values == (1, 1, 0, 0)
    pair.upload(2, 3)
    assert pair.collect().pk == first.pk  # the same query is the same job, until it is deleted
    collection_job_delete(job=first)
    second = pair.collect()
    pair.settle(3)
    result = pair.result(second)
    assert isinstance(result, TaskResult)
    assert result.values == (0, 0, 1, 1)
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
    return batch_id


def test_delete_of_a_job_that_has_chosen_its_batch_leaves_the_batch_to_the_next() -> None:
    pair = Pair(batch_mode=BatchMode.LEADER_SELECTED, min_batch_size=2)
    chosen_and_deleted(pair)
    job = pair.collect()
    pair.settle(4)
    result = pair.result(job)
    assert isinstance(result, TaskResult)
    assert result.values == (2, 1, 0, 0)


def test_delete_of_a_job_that_has_chosen_its_batch_when_another_is_open_loses_neither() -> None:
    pair = Pair(batch_mode=BatchMode.LEADER_SELECTED, min_batch_size=2)
    batch_id = chosen_and_deleted(pair)
    Planning.objects.filter(task=pair.task).update(batch_id=None)  # as a job left it that chose in between
    pair.upload(2, 3)
    pair.settle(2)
    other = Planning.objects.get(task=pair.task).batch_id
    assert bytes(other) != batch_id
    values = []
    for _ in range(2):
        job = pair.collect()
        pair.settle(3)
        result = pair.result(job)
        assert isinstance(result, TaskResult)
        values.append(result.values)
        collection_job_delete(job=job)
    assert values == [(2, 1, 0, 0), (0, 0, 1, 1)]
    assert not BatchBucket.objects.filter(task=pair.task, collected=False).exists()


def test_leader_selected_batch_below_the_smallest_waits_while_open_and_is_refused_once_closed() -> None:
    pair = Pair(batch_mode=BatchMode.LEADER_SELECTED, min_batch_size=3)
    pair.upload(0, 1)
    job = pair.collect()
    pair.settle(3)
    assert pair.result(job) is None
    pair.close()
    pair.settle(1)
    refusal = pair.result(job)
    assert isinstance(refusal, Refusal)
    assert refusal.problem == "invalidBatchSize"


def test_close_of_a_recipes_task_collects_it_by_itself() -> None:
    pair = recipe_pair()
    pair.upload(0, 1, 1)
    assert task_result(pair.task) is None
    pair.close()
    pair.settle(3)
    result = task_result(pair.task)
    assert isinstance(result, TaskResult)
    assert result.values == (1, 2, 0, 0)


def test_close_of_a_recipes_task_with_too_few_reports_is_refused_on_both_sides_unopened() -> None:
    pair = recipe_pair(min_batch_size=3)
    pair.upload(0, 1)
    pair.close()
    pair.network.faults.extend([lost_request, lost_answer])
    pair.settle(5)
    refusal = task_result(pair.task)
    assert isinstance(refusal, Refusal)
    assert refusal.problem == "invalidBatchSize"
    assert pair.helper_task.state == Task.State.ENDED
    assert pair.helper_task.outcome == refusal.detail
    assert not EndNotice.objects.exists()
    assert not BatchBucket.objects.exists()


def test_close_with_too_few_reports_while_a_job_is_on_its_way_leaves_no_job_behind() -> None:
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
        assert isinstance(task_result(pair.task), Refusal)
        pair.task.refresh_from_db()
    return pairs


def left(pair: Pair) -> int:
    return Uploads.objects.filter(task=pair.task).count()


def test_refusal_leaves_uploads_to_later_looks_and_opens_none() -> None:
    (pair,) = refused_with_uploads(5)
    assert left(pair) == 5
    Uploads.objects.filter(task=pair.task).update(job=None)
    # Enough for a batch, but for none that will be collected.
    assert aggregation_jobs_plan(task=pair.task, now=pair.now) == []
    pair.settle(1)
    assert (left(pair), AggregationJob.objects.count()) == (0, 0)


@pytest.mark.parametrize("limit", ["rows", "bytes"])
def test_look_deletes_one_part_of_each_refused_task_and_goes_on_to_the_next(
    monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    """There may be millions, and every other task waits for the end of a look. A death leaves the rest to
    another look."""
    large, small = refused_with_uploads(5, 1)
    if limit == "rows":
        monkeypatch.setattr(advancing, "DELETED_UPLOADS", 2)
    else:
        size = Uploads.objects.filter(task=large.task).aggregate(most=Max("size"))["most"]
        monkeypatch.setattr(advancing, "DELETED_BYTES", size + 1)
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


def test_look_at_a_refused_task_with_one_upload_beyond_the_limit_deletes_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(advancing, "DELETED_BYTES", 1)
    (pair,) = refused_with_uploads(2)
    tasks_advance(now=pair.now)
    assert left(pair) == 1


def test_collect_of_a_recipes_task_is_refused_while_it_is_open() -> None:
    """Its one collection would be over before all reports are there."""
    pair = recipe_pair()
    with pytest.raises(CollectionRefusedError, match="once it takes no more reports") as refused:
        pair.collect()
    assert refused.value.problem == "batchInvalid"
    pair.upload(0, 1, 1)
    pair.close()
    pair.settle(3)
    result = task_result(pair.task)
    assert isinstance(result, TaskResult)
    assert result.values == (1, 2, 0, 0)


@pytest.mark.parametrize(("state", "kept"), [(Task.State.OPEN, 3), (Task.State.CLOSED, 0)])
def test_refused_job_of_a_recipes_task_costs_it_its_uploads_only_once_it_is_closed(
    state: Task.State, kept: int
) -> None:
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


def test_close_of_a_recipes_task_whose_reports_turn_out_bad_is_refused_on_both_sides() -> None:
    pair = recipe_pair(min_batch_size=3)
    pair.upload(0, 1)
    reports_upload(task=pair.task, reports=[pair.forged()], now=pair.now)
    pair.close()
    pair.settle(5)
    refusal = task_result(pair.task)
    assert isinstance(refusal, Refusal)
    assert refusal.problem == "invalidBatchSize"
    assert pair.rejections()["helper"] == {"vdaf_verify_error": 1}
    assert pair.helper_task.outcome == refusal.detail


def test_end_deletes_reports_keys_and_results_on_both_sides_and_keeps_counts() -> None:
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
def test_partitions_of_both_sides_come_with_a_task_and_are_dropped_after_its_end() -> None:
    pair, other = Pair(), Pair()
    for each in (pair, other):
        each.upload(0, 1, 2)
        each.settle(1)
        each.upload(3)
    partitions_upkeep()
    assert _partitions(pair) == _partitions(other) == {"dap": 2, "leader": 1, "helper": 1}
    task_end(task=pair.task, reason="ended", now=pair.now)
    pair.settle(2)
    partitions_upkeep()
    assert _partitions(pair) == dict.fromkeys(("dap", "leader", "helper"), 0)
    assert _partitions(other) == {"dap": 2, "leader": 1, "helper": 1}
    assert AggregatedReport.objects.filter(task=other.task).count() == 4


def _partitions(pair: Pair) -> dict[str, int]:
    """How many tables of each room the two halves of a task have."""
    tasks = {"leader": pair.task.pk, "helper": pair.helper_task.pk}
    tables = {
        "dap": [f"dap_aggregatedreport_{key}" for key in tasks.values()],
        "leader": [f"leader_uploads_{tasks['leader']}"],
        "helper": [f"helper_aggregationjob_{tasks['helper']}"],
    }
    with connection.cursor() as cursor:
        found = {}
        for room, names in tables.items():
            cursor.execute(
                "SELECT count(*) FROM pg_class WHERE relispartition AND relname = ANY (%s)", [names]
            )
            (found[room],) = cursor.fetchone()
        return found


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
    assert HpkeKey.objects.count() == 1
    assert pair.counts() == (1, 1)


def test_report_taken_in_just_before_its_key_is_over_is_counted_and_then_the_key_deleted(
    settings: Any,
) -> None:
    pair = Pair(min_batch_size=3)
    report = pair.report(0)
    HPKE_KEYS.rotate(now=pair.now)
    CLOCK.now += timedelta(seconds=settings.HPKE_GRACE_SECONDS - 1)
    # Acknowledged at the last moment, and planned so much later that the key is over.
    assert reports_upload(task=pair.task, reports=[report], now=pair.now) == []
    CLOCK.now += timedelta(hours=2)
    with patch("leader.advancing.aggregation_jobs_plan"):
        pair.tick()
    assert HpkeKey.objects.count() == 2
    pair.settle(2)
    assert pair.counts() == (1, 1)
    assert HpkeKey.objects.count() == 1


def test_key_outlives_an_upload_that_is_on_its_way_when_its_grace_period_ends(settings: Any) -> None:
    pair = Pair(min_batch_size=3)
    report = pair.report(0)
    HPKE_KEYS.rotate(now=pair.now)
    looked_at = pair.now + timedelta(seconds=settings.HPKE_GRACE_SECONDS - 1)
    CLOCK.now = looked_at + timedelta(minutes=5)
    pair.tick()
    assert reports_upload(task=pair.task, reports=[report], now=looked_at) == []
    CLOCK.now += timedelta(hours=2)
    with patch("leader.advancing.aggregation_jobs_plan"):
        pair.tick()
    assert HpkeKey.objects.count() == 2

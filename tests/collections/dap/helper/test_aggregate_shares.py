"""When the helper gives out its share of a sum: once, of enough reports, and of the leader's reports."""

from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from django.db import transaction

from dap.helper.aggregate_shares import aggregate_share_release
from dap.helper.models import ReleasedShare
from dap.models import BatchBucket, CollectedInterval
from dap.selectors import is_any_collected
from log.audit.models import Entry
from panprivacy.protocols.dap.basics import BatchMode, Extension, Interval
from panprivacy.protocols.dap.collection import BatchSelector, Query
from partners.client import PeerRefusedError
from tests.collections.dap.helper.scene import (
    Leader,
    SentReport,
    at_once,
    current_time,
    interval_selector,
    killed_at,
    peer,
    registered,
)

pytestmark = pytest.mark.django_db


def aggregated(leader: Leader, *values: int, **arguments: Any) -> list[SentReport]:
    job = {name: arguments.pop(name) for name in ("batch_id",) if name in arguments}
    reports = [leader.report(value, **arguments) for value in values]
    assert leader.aggregate(reports, **job) == ["ok"] * len(values)
    return reports


def refused(leader: Leader, request: Any) -> PeerRefusedError:
    """The refusal; the batch must be as open as before."""
    collected = list(CollectedInterval.objects.values_list("start", "end"))
    with pytest.raises(PeerRefusedError) as refusal:
        leader.send_share(request)
    assert list(CollectedInterval.objects.values_list("start", "end")) == collected
    assert refusal.value.problem["taskid"] == leader.path.removeprefix("/tasks/")
    return refusal.value


class TestRelease:
    def test_share_of_enough_reports_adds_up_to_their_sum_with_the_leaders(self) -> None:
        leader = registered()
        reports = aggregated(leader, 1, 0, 1, 1)
        cheat, *others = leader.report(1_000_000, cheat=True), leader.report(1), leader.report(0)
        assert leader.aggregate([cheat, *others]) == ["vdaf_verify_error", "ok", "ok"]
        reports += others
        request = leader.share_request(reports, interval_selector(current_time()))

        answer = leader.send_share(request)

        assert leader.result(reports, request, answer.body) == 4
        entry = Entry.objects.get(action="share_released")
        assert entry.subject == leader.task_id.hex()
        assert entry.details == {"min_batch_size": 3}

    def test_same_request_gets_the_same_bytes_for_ever(self) -> None:
        leader = registered()
        request = leader.share_request(aggregated(leader, 1, 1, 1), interval_selector(current_time()))
        first = leader.send_share(request)
        for _ in range(3):
            again = leader.send_share(request)
            assert (again.body, again.location) == (first.body, first.location)
        assert peer().get(first.location).body == first.body
        assert peer().send("DELETE", first.location).status == 200
        assert leader.send_share(request).body == first.body
        assert Entry.objects.filter(action="share_released").count() == 1

    def test_other_request_for_a_collected_batch_is_refused(self) -> None:
        leader = registered()
        now = current_time()
        reports = aggregated(leader, 1, 1, 1)
        leader.send_share(leader.share_request(reports, interval_selector(now)))
        wider = leader.share_request(
            reports, interval_selector(now), query=Query.of_interval(Interval(now - 1, 3))
        )
        assert refused(leader, wider).token == "batchOverlap"

    def test_batch_below_the_minimum_is_refused_until_it_is_large_enough(self) -> None:
        leader = registered()
        selector = interval_selector(current_time())
        reports: list[SentReport] = []
        for more in ((), (1, 1)):
            reports += aggregated(leader, *more) if more else []
            for claimed in (None, 100):
                request = leader.share_request(reports, selector, report_count=claimed)
                refusal = refused(leader, request)
                assert refusal.token == "invalidBatchSize"
                # Both sides show this to everybody, and log it: how many there are is not for them.
                assert str(refusal) == "The helper has fewer reports in this batch than the task needs."
        reports += aggregated(leader, 1)
        assert leader.collected(reports, leader.share_request(reports, selector)) == 3

    @pytest.mark.parametrize("other", ["number", "reports"])
    def test_sum_of_other_reports_is_refused_without_their_number(self, other: str) -> None:
        leader = registered()
        reports = aggregated(leader, 1, 1, 1)
        claimed = 4 if other == "number" else 3
        asked = reports if other == "number" else [*reports[:2], leader.report()]
        request = leader.share_request(asked, interval_selector(current_time()), report_count=claimed)
        refusal = refused(leader, request)
        assert refusal.token == "batchMismatch"
        assert str(refusal) == "Leader and helper did not count the same reports."

    def test_batch_is_of_every_bucket_in_its_interval_and_of_none_outside(self) -> None:
        leader = registered()
        now = current_time()
        inside = [report for age in (1, 2, 4) for report in aggregated(leader, 1, 0, time=now - age)]
        outside = aggregated(leader, 1, 1, 1, time=now)
        request = leader.share_request(inside, interval_selector(now - 5, 5))
        assert leader.collected(inside, request) == 3
        request = leader.share_request(outside, interval_selector(now))
        assert leader.collected(outside, request) == 3


class TestCollectedBatches:
    """Nothing joins a batch afterwards: the difference of two sums would be about one report."""

    def collected(self) -> tuple[Leader, int]:
        """A leader whose interval from four units ago to now is collected; it has a gap at its second."""
        leader = registered()
        now = current_time()
        reports = aggregated(leader, 1, 1, 1, time=now - 4) + aggregated(leader, 1, 1, time=now - 2)
        leader.send_share(leader.share_request(reports, interval_selector(now - 4, 4)))
        return leader, now

    def test_job_across_the_border_takes_what_is_outside(self) -> None:
        """Times of the interval at which no report was are collected, too."""
        leader, now = self.collected()
        reports = [leader.report(time=now - age) for age in (0, 1, 2, 3, 4, 5)]
        assert leader.aggregate(reports) == ["ok", *["batch_collected"] * 4, "ok"]

    @pytest.mark.parametrize(("age", "duration"), [(6, 3), (3, 1), (1, 3), (9, 20)])
    def test_interval_that_overlaps_is_refused_even_without_reports(self, age: int, duration: int) -> None:
        leader, now = self.collected()
        reports = aggregated(leader, 1, 1, 1, time=now) + aggregated(leader, 1, 1, 1, time=now - 5)
        request = leader.share_request(reports, interval_selector(now - age, duration))
        assert refused(leader, request).token == "batchOverlap"


class TestLeaderSelected:
    def test_batches_are_collected_by_their_identifiers_each_once(self) -> None:
        leader = registered(batch_mode=BatchMode.LEADER_SELECTED)
        one, two = bytes(32), bytes([1]) * 32
        first = aggregated(leader, 1, 1, 1, batch_id=one)
        second = aggregated(leader, 1, 0, 0, batch_id=two)
        request = leader.share_request(first, BatchSelector.of_batch(one))
        assert leader.collected(first, request) == 3
        assert leader.aggregate([leader.report()], batch_id=one) == ["batch_collected"]
        again = replace(request, report_count=4)
        assert refused(leader, again).token == "batchOverlap"

        request = leader.share_request(second, BatchSelector.of_batch(two))
        assert leader.collected(second, request) == 1

    def test_report_counts_in_one_batch_only(self) -> None:
        leader = registered(batch_mode=BatchMode.LEADER_SELECTED)
        (report,) = aggregated(leader, 1, batch_id=bytes(32))
        assert leader.aggregate([report], batch_id=bytes([1]) * 32) == ["report_replayed"]


NOWHERE = BatchSelector.of_batch(bytes(32))
IMPOSSIBLE = ((0, 0), (2**64 - 1, 1), (2**63 - 2, 2), (2**64 - 1, 2**64 - 1))
REFUSED: dict[str, tuple[BatchSelector, dict[str, Any], str]] = {
    "selector outside of the query": (
        interval_selector(1),
        {"query": Query.of_interval(Interval(2, 1))},
        "batchInvalid",
    ),
    "batch mode": (NOWHERE, {}, "invalidMessage"),
    "aggregation parameter": (interval_selector(1), {"agg_param": b"p"}, "invalidMessage"),
    "extension": (interval_selector(1), {"extensions": (Extension(9, b""),)}, "unsupportedExtension"),
    **{f"interval {of}": (interval_selector(*of), {}, "batchInvalid") for of in IMPOSSIBLE},
}


class TestRequests:
    @pytest.mark.parametrize(("selector", "changes", "token"), REFUSED.values(), ids=REFUSED)
    def test_bad_requests_fail(self, selector: BatchSelector, changes: dict[str, Any], token: str) -> None:
        leader = registered()
        refusal = refused(leader, leader.share_request([], selector, **changes))
        assert refusal.token == token
        if "extensions" in changes:
            assert refusal.problem["unsupported_extensions"] == [9]

    def test_unknown_batch_and_unknown_share_are_refused(self) -> None:
        leader = registered(batch_mode=BatchMode.LEADER_SELECTED)
        assert refused(leader, leader.share_request([], NOWHERE)).token == "batchInvalid"
        with pytest.raises(PeerRefusedError) as refusal:
            peer().get(f"{leader.path}/aggregate_shares/{'A' * 22}")
        assert refusal.value.status == 404


def test_release_killed_at_any_statement_leaves_the_batch_open() -> None:
    leader = registered()
    reports = aggregated(leader, 1, 1, 1)
    request = leader.share_request(reports, interval_selector(current_time()))
    statement = 0
    while True:
        before = transaction.savepoint()
        with killed_at(statement) as died:
            aggregate_share_release(task=leader.task, body=request.encode())
        if not died():
            break
        assert not is_any_collected(leader.task)
        assert not ReleasedShare.objects.filter(task=leader.task).exists()
        assert leader.collected(reports, request) == 3
        transaction.savepoint_rollback(before)
        statement += 1
    assert statement > 8, "the wrapper must have seen the statements of a release"


@pytest.mark.django_db(transaction=True)
def test_identical_requests_at_once_get_the_same_bytes_others_one_share() -> None:
    for _ in range(3):
        leader = registered()
        reports = aggregated(leader, 1, 1, 1)
        now = current_time()
        same = leader.share_request(reports, interval_selector(now))
        other = leader.share_request(
            reports, interval_selector(now), query=Query.of_interval(Interval(now - 1, 2))
        )
        requests = (same, same, same, other)
        answers = at_once(*(partial(leader.send_share, request) for request in requests))

        assert answers[0] == answers[1] == answers[2]
        assert "batchOverlap" in {answers[0], answers[3]}
        assert ReleasedShare.objects.filter(task=leader.task).count() == 1


@pytest.mark.django_db(transaction=True)
def test_reports_and_collection_at_once_give_a_share_of_what_was_added() -> None:
    for _ in range(3):
        leader = registered()
        reports = aggregated(leader, 1, 1, 1)
        late = leader.request(leader.reports(2))
        request = leader.share_request(reports, interval_selector(current_time()))
        _, share = at_once(partial(leader.send_job, late), partial(leader.send_share, request))

        (bucket,) = BatchBucket.objects.filter(task=leader.task)
        if share == "batchMismatch":
            assert (bucket.collected, bucket.report_count) == (False, 5)
        else:
            assert leader.result(reports, request, share) == 3
            assert (bucket.collected, bucket.report_count) == (True, 3)

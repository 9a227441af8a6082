"""How tasks end, and what is left of them: no key, no share, no identifier of a report."""

import hashlib
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.core.management import call_command
from django.utils import timezone

from audit.models import Entry
from dap.errors import TaskEndedError
from dap.models import AggregatedReport, BatchBucket, Side, Task
from dap.operations import reports_claim, task_remains_delete, task_verify_key
from dap.selectors import rejections_of, report_count
from helper.ending import expires_at, helper_task_end, upkeep
from helper.models import AggregationJob, ReleasedShare
from panprivacy.dap.basics import BatchMode, Interval
from panprivacy.dap.collection import BatchSelector
from panprivacy.dap.task import task_interval_extension
from peers.client import PeerRefusedError
from peers.helper_calls import task_end_at_helper, task_status_at_helper
from storage import partitions
from tests.collections.helper.scene import (
    PRECISION,
    Leader,
    current_time,
    interval_selector,
    killed_at,
    partner,
    registered,
)


def remains(leader: Leader) -> dict[str, Any]:
    """Everything that must be gone once a task has ended."""
    task = leader.task
    return {
        "verify_key": task.verify_key,
        "share_key": task.share_key,
        "shares": [bytes(bucket.aggregate_share) for bucket in BatchBucket.objects.filter(task=task)],
        "reports": AggregatedReport.objects.filter(task=task).count(),
        "jobs": AggregationJob.objects.filter(task=task).count(),
        "released": ReleasedShare.objects.filter(task=task).count(),
    }


NOTHING = {"verify_key": None, "share_key": None, "shares": [b""], "reports": 0, "jobs": 0, "released": 0}


def busy_task(**changes: Any) -> Leader:
    # The time is read once: the clock may tick between reports and selector.
    leader, now = registered(**changes), current_time()
    reports = leader.reports(3, time=now)
    leader.aggregate([*reports, leader.report(2, cheat=True)])
    leader.send_share(leader.share_request(reports, interval_selector(now)))
    return leader


@pytest.mark.django_db
class TestEnd:
    def test_ended_task_does_not_tell_which_reports_it_had_nor_when_they_were_made(self) -> None:
        leader, now = registered(), current_time()
        alone = leader.report(time=now - 5)
        leader.aggregate([alone, *leader.reports(3, time=now)])
        digest = hashlib.sha256(alone.report_id).digest()
        assert digest in [bytes(bucket.checksum) for bucket in leader.task.buckets.all()]
        task_end_at_helper(partner(), task_id=leader.task_id, reason="released")

        bucket = leader.task.buckets.get()
        assert (bytes(bucket.checksum), bytes(bucket.identifier)) == (b"", b"")
        assert (bucket.first_time, bucket.last_time) == (None, None)
        assert (bucket.report_count, bucket.collected) == (4, False)

    def test_ended_task_of_which_a_batch_was_collected_still_says_so(self) -> None:
        leader = registered(batch_mode=BatchMode.LEADER_SELECTED)
        batches = [bytes([number]) * 32 for number in range(2)]
        reports = {batch_id: leader.reports(3) for batch_id in batches}
        for batch_id, those in reports.items():
            leader.aggregate(those, batch_id=batch_id)
        leader.send_share(leader.share_request(reports[batches[0]], BatchSelector.of_batch(batches[0])))
        task_end_at_helper(partner(), task_id=leader.task_id, reason="released")
        status = task_status_at_helper(partner().client(), task_id=leader.task_id)
        assert (status.report_count, status.collected) == (6, True)

    def test_ended_task_keeps_counts_and_outcome_and_nothing_else(self) -> None:
        leader = busy_task()
        task_end_at_helper(partner(), task_id=leader.task_id, reason="released")

        assert remains(leader) == NOTHING
        assert (report_count(leader.task), leader.task.outcome) == (3, "released")
        assert rejections_of(leader.task, Side.HELPER) == {"vdaf_verify_error": 1}
        entry = Entry.objects.get(action="task_ended")
        assert entry.details == {"reason": "released", "collected": True}

    def test_end_may_be_asked_for_again_and_keeps_its_first_reason(self) -> None:
        leader = busy_task()
        task_end_at_helper(partner(), task_id=leader.task_id, reason="first")
        task_end_at_helper(partner(), task_id=leader.task_id, reason="second")
        assert task_status_at_helper(partner().client(), task_id=leader.task_id).outcome == "first"
        assert Entry.objects.filter(action="task_ended").count() == 1

    def test_end_of_a_task_that_the_helper_does_not_know_is_no_error(self) -> None:
        task_end_at_helper(partner(), task_id=bytes(32), reason="never published")

    def test_ended_task_takes_nothing_and_says_why(self) -> None:
        leader = busy_task()
        body = leader.request(leader.reports(3))
        share = leader.share_request([], interval_selector(current_time()))
        task_end_at_helper(partner(), task_id=leader.task_id, reason="withdrawn")
        for ask in (lambda: leader.send_job(body), lambda: leader.send_share(share)):
            with pytest.raises(PeerRefusedError, match="The task has ended: withdrawn") as refusal:
                ask()
            assert refusal.value.token == "unrecognizedTask"
        with pytest.raises(PeerRefusedError, match="withdrawn"):
            leader.register()
        with pytest.raises(TaskEndedError):
            reports_claim(task=leader.task, report_ids=[bytes(16)])
        with pytest.raises(TaskEndedError):
            task_verify_key(leader.task)
        assert remains(leader) == NOTHING

    def test_long_reason_is_cut(self) -> None:
        leader = registered()
        task_end_at_helper(partner(), task_id=leader.task_id, reason="x" * 1_000)
        assert leader.task.outcome == "x" * 200

    @pytest.mark.django_db(transaction=True)  # several transactions: a death is between two of them, too
    @pytest.mark.parametrize("again", ["leader", pytest.param("upkeep", marks=pytest.mark.long)])
    def test_end_killed_at_any_statement_is_finished_when_asked_for_again_or_by_upkeep(
        self, again: str
    ) -> None:
        statement = 0
        while True:
            leader = busy_task()
            with killed_at(statement) as died:
                helper_task_end(task=leader.task, reason="released", now=timezone.now())
            if not died():
                break
            ended = leader.task.state == Task.State.ENDED
            assert ended == (leader.task.verify_key is None)
            if again == "leader" or not ended:
                task_end_at_helper(partner(), task_id=leader.task_id, reason="released")
            else:
                upkeep(now=timezone.now())
            assert remains(leader) == NOTHING
            statement += 1
        assert statement > 5

    def test_identifiers_are_deleted_in_parts(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(partitions, "DELETED_ROWS", 4)
        leader, other = registered(), registered()
        for task in (leader.task, other.task):
            reports_claim(task=task, report_ids=[bytes([number]) * 16 for number in range(11)])
        helper_task_end(task=leader.task, reason="", now=timezone.now())
        assert AggregatedReport.objects.filter(task=leader.task).count() == 0
        assert AggregatedReport.objects.filter(task=other.task).count() == 11

    def test_identifiers_of_a_task_that_has_not_ended_are_not_deleted(self) -> None:
        leader = busy_task()
        with pytest.raises(ValueError, match="not ended"):
            task_remains_delete(task=leader.task)
        assert remains(leader)["reports"] == 4


@pytest.mark.django_db
class TestExpiry:
    def test_task_that_nobody_ends_is_ended_after_its_time_and_the_retention(self, settings: Any) -> None:
        interval = Interval(current_time(), 2)
        leader = busy_task(extensions=(task_interval_extension(interval),))
        over = datetime.fromtimestamp(interval.end * PRECISION, UTC)
        due = over + timedelta(seconds=settings.TASK_RETENTION_SECONDS)
        assert expires_at(leader.task) == due

        upkeep(now=due - timedelta(seconds=1))
        assert leader.task.state == Task.State.OPEN
        upkeep(now=due)
        assert remains(leader) == NOTHING
        assert "Nobody ended it" in leader.task.outcome

    def test_task_whose_time_was_over_at_registration_is_kept_from_then(self, settings: Any) -> None:
        leader = registered(extensions=(task_interval_extension(Interval(0, 1)),))
        due = leader.task.created_at + timedelta(seconds=settings.TASK_RETENTION_SECONDS)
        assert expires_at(leader.task) == due

    @pytest.mark.parametrize("end", [None, 2**63])
    def test_task_without_an_end_is_kept_until_the_leader_ends_it(self, end: int | None) -> None:
        extensions = () if end is None else (task_interval_extension(Interval(0, end)),)
        leader = registered(extensions=extensions)
        upkeep(now=timezone.now() + timedelta(days=365 * 100))
        assert leader.task.state == Task.State.OPEN

    def test_registration_ends_what_is_due(self, settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        leader = busy_task(extensions=(task_interval_extension(Interval(current_time(), 1)),))
        settings.TASK_RETENTION_SECONDS = -2 * PRECISION
        Task.objects.update(created_at=timezone.now() - timedelta(days=9))
        registered()
        assert remains(leader) == NOTHING

    def test_command_ends_what_is_due(self, settings: Any, capsys: pytest.CaptureFixture[str]) -> None:
        leader = busy_task(extensions=(task_interval_extension(Interval(current_time(), 1)),))
        settings.TASK_RETENTION_SECONDS = -2 * PRECISION
        Task.objects.update(created_at=timezone.now() - timedelta(days=9))
        call_command("helper_upkeep")
        assert remains(leader) == NOTHING

"""How tasks end, and what is left of them: no key, no share, no identifier of a report."""

import hashlib
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, ManagementUtility, call_command
from django.db import connections
from django.utils import timezone

from dap.errors import TaskEndedError
from dap.helper.models import AggregationJob, ReleasedShare
from dap.helper.task_ends import expires_at, helper_task_end, upkeep
from dap.models import AggregatedReport, BatchBucket, Side, Task
from dap.operations import rejections_add, reports_claim, task_remains_delete, task_verify_key
from dap.selectors import rejections_of, report_count
from log.audit.models import Entry
from panprivacy.formats import base64_text
from panprivacy.protocols.dap.basics import BatchMode, Interval
from panprivacy.protocols.dap.collection import BatchSelector
from panprivacy.protocols.dap.task import task_interval_extension
from partners.client import PeerRefusedError
from partners.helper_calls import task_end_at_helper
from storage import partitions
from tests.collections.dap.helper.scene import (
    PRECISION,
    Leader,
    configuration,
    current_time,
    interval_selector,
    killed_at,
    partner,
    registered,
)

pytestmark = pytest.mark.django_db


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


def ended(leader: Leader, reason: str = "released") -> None:
    task_end_at_helper(partner(), task_id=leader.task_id, reason=reason)


class TestEnd:
    def test_ended_task_does_not_tell_which_reports_it_had_or_when(self) -> None:
        leader, now = registered(), current_time()
        alone = leader.report(time=now - 5)
        leader.aggregate([alone, *leader.reports(3, time=now)])
        digest = hashlib.sha256(alone.report_id).digest()
        assert digest in [bytes(bucket.checksum) for bucket in leader.task.buckets.all()]
        ended(leader)

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
        ended(leader)
        status = leader.status()
        assert (status["report_count"], status["collected"]) == (6, True)

    @pytest.mark.django_db(transaction=True)
    def test_ended_task_keeps_counts_and_its_first_reason_and_nothing_else(self) -> None:
        leader = busy_task()
        ended(leader, "x" * 1_000)
        ended(leader, "second")
        assert remains(leader) == NOTHING
        assert (report_count(leader.task), leader.status()["outcome"]) == (3, "x" * 200)
        assert rejections_of(leader.task, Side.HELPER) == {"vdaf_verify_error": 1}
        entry = Entry.objects.get(action="task_ended")
        assert entry.details == {"reason": "x" * 200, "collected": True}
        # No error: one that was never registered has come to its end, too.
        task_end_at_helper(partner(), task_id=bytes(32), reason="never published")

    def test_ended_task_takes_nothing_and_says_why(self) -> None:
        leader = busy_task()
        body = leader.request(leader.reports(3))
        share = leader.share_request([], interval_selector(current_time()))
        ended(leader, "withdrawn")
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

    @pytest.mark.django_db(transaction=True)  # several transactions: a death is between two of them, too
    @pytest.mark.parametrize("again", ["leader", pytest.param("upkeep", marks=pytest.mark.long)])
    def test_end_killed_at_any_statement_is_finished_later(self, again: str) -> None:
        statement = 0
        while True:
            leader = busy_task()
            with killed_at(statement) as died:
                helper_task_end(task=leader.task, reason="released", now=timezone.now())
            if not died():
                break
            is_ended = leader.task.state == Task.State.ENDED
            assert is_ended == (leader.task.verify_key is None)
            if again == "leader" or not is_ended:
                ended(leader)
            else:
                upkeep(now=timezone.now())
            assert remains(leader) == NOTHING
            statement += 1
        assert statement > 5

    @pytest.mark.django_db(transaction=True)
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
        assert "It was not ended" in leader.task.outcome

        leader = registered(extensions=(task_interval_extension(Interval(0, 1)),))
        kept_until = leader.task.created_at + timedelta(seconds=settings.TASK_RETENTION_SECONDS)
        assert expires_at(leader.task) == kept_until, "its time was over when it was registered"

    @pytest.mark.parametrize("end", [None, 2**63])
    def test_task_without_an_end_is_kept_until_the_leader_ends_it(self, end: int | None) -> None:
        extensions = () if end is None else (task_interval_extension(Interval(0, end)),)
        leader = registered(extensions=extensions)
        upkeep(now=timezone.now() + timedelta(days=365 * 100))
        assert leader.task.state == Task.State.OPEN

    @pytest.mark.parametrize("upkeep_by", [registered, lambda: call_command("helper_upkeep")])
    def test_registering_and_command_end_due(self, settings: Any, upkeep_by: Callable[[], object]) -> None:
        leader = busy_task(extensions=(task_interval_extension(Interval(current_time(), 1)),))
        settings.TASK_RETENTION_SECONDS = -2 * PRECISION
        Task.objects.update(created_at=timezone.now() - timedelta(days=9))
        upkeep_by()
        assert remains(leader) == NOTHING


def task(number: int) -> Task:
    leader = Leader(configuration(), task_id=bytes([number]) * 32)
    leader.register()
    return leader.task


def helper_tasks(*arguments: str) -> list[str]:
    output = StringIO()
    call_command("helper_tasks", *arguments, stdout=output)
    return output.getvalue().splitlines()


def test_list_names_running_tasks_and_ended_ones_on_demand() -> None:
    first, second = task(1), task(2)
    rejections_add(task=first, side=Side.HELPER, reasons={"vdaf_verify_error": 1_234, "report_replayed": 1})
    identifiers = [bytes(each.task_id) for each in (first, second)]
    spelled = [[identifier.hex(), base64_text.encode_url(identifier)] for identifier in identifiers]
    assert [line.split()[:2] for line in helper_tasks("list")] == spelled
    helper_tasks("end", identifiers[0].hex(), "--reason", "the leader is gone")
    (running,) = helper_tasks("list")
    ended, still_running = helper_tasks("list", "--ended")
    assert running == still_running
    assert running.split()[0] == identifiers[1].hex()
    assert "rejected" not in running
    assert "rejected: 1 report_replayed, 1,234 vdaf_verify_error" in ended
    assert ended.endswith(": the leader is gone")
    entry = Entry.objects.get(action="task_ended")
    assert (entry.subject, entry.details["reason"]) == (identifiers[0].hex(), "the leader is gone")
    first.refresh_from_db()
    with pytest.raises(TaskEndedError):
        task_verify_key(first)
    assert task_verify_key(second)


def test_end_takes_daps_spelling_though_it_reads_like_an_option(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "close_all", lambda: None)  # the test goes on with them
    monkeypatch.setattr("django.setup", lambda: None)  # done already; it would set up logging anew
    first, second = task(0xF8), task(1)
    identifier = base64_text.encode_url(bytes(first.task_id))
    assert identifier.startswith("-")
    ManagementUtility(["manage.py", "helper_tasks", "end", identifier, "--reason", "why"]).execute()
    first.refresh_from_db()
    second.refresh_from_db()
    assert (first.state, second.state) == (Task.State.ENDED, Task.State.OPEN)


def test_end_of_all_tasks_leaves_none_running() -> None:
    task(1), task(2)
    assert len(helper_tasks("end", "--all", "--reason", "restored from a backup")) == 2
    assert helper_tasks("list") == []
    assert helper_tasks("end", "--all", "--reason", "restored from a backup") == []


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["00" * 32, "--reason", "why"], "identifier: no task that has not ended has it"),
        (["nonsense", "--reason", "why"], "identifier: no task that has not ended has it"),
        (["--all", "--reason", " "], "reason: must have 1 to 200 characters"),
        (["--all", "--reason", "x" * 201], "reason: must have 1 to 200 characters"),
        (["--all"], "--reason"),
        (["--reason", "why"], "--all"),
    ],
)
def test_end_with_bad_input_says_what_is_wrong_and_ends_nothing(arguments: list[str], says: str) -> None:
    one = task(1)
    with pytest.raises(CommandError, match=says):
        helper_tasks("end", *arguments)
    one.refresh_from_db()
    assert one.state == Task.State.OPEN

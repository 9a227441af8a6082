"""`manage.py helper_tasks`, with which a helper's administrator ends tasks without the leader."""

import random
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, ManagementUtility, call_command
from django.db import connections
from django.utils import timezone

from audit.models import Entry
from dap.errors import TaskEndedError
from dap.models import Side, Task
from dap.operations import rejections_add, task_verify_key
from helper.registering import plain_task_register
from panprivacy import base64_text
from panprivacy.dap.basics import BatchMode
from panprivacy.dap.hpke import generate_keypair
from panprivacy.dap.task import TaskConfiguration

pytestmark = pytest.mark.django_db

HELPER_URL = "https://helper.example/helper"
PRIO3_COUNT = 1


@pytest.fixture(autouse=True)
def _as_helper(settings: Any) -> None:
    settings.HELPER_URL, settings.LEADER_KEY = HELPER_URL, bytes(range(32))


def registered(number: int) -> Task:
    task_id = bytes([number]) * 32
    configuration = TaskConfiguration(
        task_info=b"a task",
        leader_aggregator_endpoint="https://leader.example/leader",
        helper_aggregator_endpoint=HELPER_URL,
        time_precision=3_600,
        min_batch_size=10,
        batch_mode=BatchMode.TIME_INTERVAL,
        batch_config=b"",
        vdaf_type=PRIO3_COUNT,
        vdaf_configuration=b"",
    )
    collector, _ = generate_keypair(1, random.Random(number))
    plain_task_register(
        task_id=task_id,
        configuration=configuration.encode(),
        verify_key=bytes(32),
        collector_config=collector.encode(),
        now=timezone.now(),
    )
    return Task.objects.get(task_id=task_id)


def helper_tasks(*arguments: str) -> list[str]:
    output = StringIO()
    call_command("helper_tasks", *arguments, stdout=output)
    return output.getvalue().splitlines()


def test_list_names_the_tasks_that_run() -> None:
    first, second = registered(1), registered(2)
    assert [line.split()[0] for line in helper_tasks("list")] == [
        bytes(task.task_id).hex() for task in (first, second)
    ]


def test_list_tells_administrators_what_was_rejected_and_on_demand_of_ended_tasks_too() -> None:
    first, second = registered(1), registered(2)
    rejections_add(task=first, side=Side.HELPER, reasons={"vdaf_verify_error": 1_234, "report_replayed": 1})
    helper_tasks("end", bytes(first.task_id).hex(), "--reason", "the leader is gone")
    (running,) = helper_tasks("list")
    ended, still_running = helper_tasks("list", "--ended")
    assert running == still_running
    assert running.split()[0] == bytes(second.task_id).hex()
    assert "rejected" not in running
    assert "rejected: 1 report_replayed, 1,234 vdaf_verify_error" in ended
    assert ended.endswith(": the leader is gone")


def test_list_names_tasks_in_both_spellings() -> None:
    task = registered(1)
    (line,) = helper_tasks("list")
    assert line.split()[:2] == [bytes(task.task_id).hex(), base64_text.encode_url(bytes(task.task_id))]


def test_end_takes_the_spelling_of_dap_though_it_reads_like_an_option(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connections, "close_all", lambda: None)  # the test goes on with them
    monkeypatch.setattr("django.setup", lambda: None)  # done already; it would set up logging anew
    first, second = registered(0xF8), registered(1)
    identifier = base64_text.encode_url(bytes(first.task_id))
    assert identifier.startswith("-")
    ManagementUtility(["manage.py", "helper_tasks", "end", identifier, "--reason", "why"]).execute()
    first.refresh_from_db()
    second.refresh_from_db()
    assert (first.state, second.state) == (Task.State.ENDED, Task.State.OPEN)


def test_end_of_one_task_deletes_its_keys_logs_the_reason_and_leaves_the_others() -> None:
    first, second = registered(1), registered(2)
    helper_tasks("end", bytes(first.task_id).hex(), "--reason", "the leader is gone")
    first.refresh_from_db()
    assert (first.state, first.outcome) == (Task.State.ENDED, "the leader is gone")
    with pytest.raises(TaskEndedError):
        task_verify_key(first)
    entry = Entry.objects.get(action="task_ended")
    assert (entry.subject, entry.details["reason"]) == (bytes(first.task_id).hex(), "the leader is gone")
    second.refresh_from_db()
    assert task_verify_key(second) == bytes(32)


def test_end_of_all_tasks_leaves_none_running() -> None:
    registered(1), registered(2)
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
    task = registered(1)
    with pytest.raises(CommandError, match=says):
        helper_tasks("end", *arguments)
    task.refresh_from_db()
    assert task.state == Task.State.OPEN

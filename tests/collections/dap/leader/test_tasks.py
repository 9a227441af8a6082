"""The workers' tasks: identifiers in, work done, nothing where there is nothing left to do."""

import uuid
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from dap.leader import tasks
from dap.leader.aggregation import aggregation_jobs_plan
from dap.leader.models import AggregationJob, CollectionJob
from dap.leader.operations import task_end
from dap.leader.peers import partner_of
from dap.leader.periodic_check import tasks_advance
from dap.leader.results import TaskResult
from dap.models import Task
from panprivacy.protocols.dap.basics import Interval
from tests.collections.dap.leader.scene import (
    CLOCK,
    DOCUMENT,
    HELPER_URL,
    HOUR,
    LEADER_KEY,
    LEADER_URL,
    Pair,
    helper_verification_key,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def pair(monkeypatch: pytest.MonkeyPatch) -> Pair:
    """Tasks run where they are sent, and reach the pair's helper."""
    pair = Pair()
    monkeypatch.setattr("dap.leader.tasks.peer_of", lambda task: pair.partner.client())
    monkeypatch.setattr("dap.leader.tasks.partner_of", lambda task: pair.partner)
    for task in (tasks.drive_aggregation_job, tasks.drive_collection_job, tasks.drive_end_notice):
        monkeypatch.setattr(task, "delay", task)
    return pair


def test_periodic_task_and_workers_bring_a_task_from_upload_to_its_end(pair: Pair) -> None:
    pair.upload(0, 1, 2)
    job = pair.collect()
    for _ in range(4):
        tasks.advance_tasks()
    pair.collected(job)
    task_end(task=pair.task, reason="over", now=pair.now)
    tasks.advance_tasks()
    assert pair.helper_task.state == Task.State.ENDED


def test_task_for_what_is_done_does_nothing(pair: Pair) -> None:
    tasks.drive_aggregation_job(str(uuid.uuid4()))
    tasks.drive_collection_job(str(uuid.uuid4()))
    tasks.drive_end_notice(pair.task.pk)
    assert pair.network.requests == []


def test_task_of_an_older_lease_never_asks_anybody(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    # By its lease and not by the clock of a worker: one that is ahead would drop every task.
    sent: list[tuple[str, str]] = []
    monkeypatch.setattr(tasks.drive_aggregation_job, "delay", lambda *arguments: sent.append(arguments))
    pair.upload(0, 1, 2)
    pair.collect()
    for _ in range(3):
        tasks.advance_tasks()
        CLOCK.now += timedelta(minutes=2)
    assert len({until for _, until in sent}) == len(sent) == 3
    for job, until in sent[:2]:
        tasks.drive_aggregation_job(job, until)
    assert pair.network.requests == []
    tasks.drive_aggregation_job(*sent[2])
    assert len(pair.network.requests) == 1


def test_task_that_fails_does_not_hold_up_the_others(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    other = Pair()
    other.upload(0, 1, 2)

    def planned(*, task: Task, now: object) -> object:
        if task == pair.task:
            raise ValueError("this one is broken")
        return aggregation_jobs_plan(task=task, now=now)

    monkeypatch.setattr("dap.leader.periodic_check.aggregation_jobs_plan", planned)
    tasks.advance_tasks()
    assert not AggregationJob.objects.exists()
    assert not CollectionJob.objects.exists()
    assert other.counts() == (3, 3)


def test_periodic_look_costs_the_same_however_many_tasks_lie_idle() -> None:
    asked = []
    for _ in range(2):
        waiting, collected = Pair(), Pair(interval=Interval(HOUR, 1), document=DOCUMENT)
        for pair in (waiting, collected):
            pair.upload(0, 1, 2)
        collected.close()
        job = waiting.collect()
        waiting.settle(4)
        collected.settle(4)
        assert isinstance(waiting.result(job), TaskResult)
        with CaptureQueriesContext(connection) as queries:
            tasks_advance(now=waiting.now)
        asked.append(len(queries))
    assert asked[0] == asked[1]


def test_partner_of_a_task_is_the_helper_that_it_was_registered_with(settings: Any) -> None:
    pair = Pair()
    settings.HELPER_URL = "https://elsewhere.example/helper"
    partner = partner_of(pair.task)
    assert (partner.url, partner.leader_url) == (HELPER_URL, LEADER_URL)
    assert partner.verification_key == helper_verification_key()
    assert partner.signing_key != LEADER_KEY

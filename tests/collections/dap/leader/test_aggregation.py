"""Aggregation jobs: every report once on both sides, whatever is lost, doubled, late or killed."""

import dataclasses
import random
import secrets
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from unittest.mock import patch

import pytest
from structlog.testing import capture_logs

from dap.input_shares import input_shares_open
from dap.leader.aggregation import aggregation_jobs_plan
from dap.leader.models import AggregationJob, Uploads
from dap.leader.selectors import progress_of
from dap.leader.uploads import reports_upload
from dap.models import AggregatedReport
from panprivacy.protocols.dap.aggregation import AggregationJobResp, Finish, VerifyResp
from panprivacy.protocols.dap.basics import Interval, ReportError
from panprivacy.protocols.dap.upload import ReportMetadata
from panprivacy.protocols.dap.vdafs import Prio3SumVecConfig, context_of, prio3_of
from tests.collections.dap.leader.scene import (
    CLOCK,
    FAULTS,
    Answer,
    Fault,
    KilledError,
    Pair,
    delivered,
    lost_answer,
    lost_request,
)
from tests.panprivacy.protocols.prio3.variants import misleading_report_of

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("fault", [delivered, *FAULTS], ids=lambda fault: fault.__name__)
def test_drive_after_one_fault_counts_every_report_once_on_both_sides(fault: Fault) -> None:
    pair = Pair()
    pair.upload(0, 1, 2)
    job = pair.collect()
    pair.network.faults.append(fault)
    pair.settle()
    assert pair.counts() == (3, 3)
    assert pair.collected(job).values == (1, 1, 1, 0)
    assert pair.rejections() == {"leader": {}, "helper": {}}
    assert not Uploads.objects.exists()
    assert not AggregationJob.objects.exists()


def test_drive_after_every_fault_twice_sends_the_same_bytes_every_time() -> None:
    pair = Pair()
    job = pair.planned(0, 1, 2)
    pair.network.faults.extend(FAULTS * 2)
    for _ in range(2 * len(FAULTS) + 1):
        pair.tick()
        CLOCK.now += timedelta(minutes=6)
    assert not AggregationJob.objects.filter(pk=job.pk).exists()
    assert len({body for _, _, body in pair.network.requests}) == 1
    assert pair.counts() == (3, 3)


def test_drive_while_the_helper_is_away_for_a_month_keeps_trying() -> None:
    pair = Pair()
    pair.planned(0, 1, 2)
    began = pair.now
    pair.network.faults.extend([lost_request] * 30)
    for _ in range(30):
        pair.tick()
        CLOCK.now += timedelta(days=1)
    progress = progress_of(task=pair.task)
    assert progress.failing_since == began
    assert "TimeoutError" in progress.last_error
    assert progress.in_jobs == 3
    CLOCK.now = began + timedelta(hours=2)
    AggregationJob.objects.update(send_after=CLOCK.now)
    pair.tick()
    assert pair.counts() == (3, 3)
    assert progress_of(task=pair.task).failing_since is None


def test_drive_when_waits_grow_asks_no_more_often_than_every_five_minutes() -> None:
    pair = Pair()
    pair.planned(0, 1, 2)
    pair.network.faults.extend([lost_request] * 100)
    for _ in range(90):
        pair.tick()
        CLOCK.now += timedelta(seconds=40)
    # An hour: at 1, 2, 4, … seconds first, each after a lease or a tick, then every five minutes.
    assert 15 <= len(pair.network.requests) <= 25


def test_drive_twice_at_once_commits_once() -> None:
    pair = Pair()
    job = pair.planned(0, 1, 2)
    # The second worker drives the same job from beginning to end while the first waits for its answer.
    pair.network.faults.append(lambda send: (pair.drive(job.pk), send())[1])
    pair.drive(job.pk)
    assert pair.counts() == (3, 3)
    assert pair.rejections() == {"leader": {}, "helper": {}}


def test_drive_that_prepares_twice_at_once_sends_one_request_only() -> None:
    pair = Pair()
    job = pair.planned(0, 1, 2)
    first = AggregationJob.objects.get(pk=job.pk)
    pair.drive(job.pk)
    # A worker that read the row before the other prepared it, and comes late.
    with patch("dap.leader.aggregation._row", side_effect=[first, None]):
        pair.drive(job.pk)
    assert len(pair.network.requests) == 1
    assert pair.counts() == (3, 3)


@pytest.mark.parametrize(
    "place",
    [
        "dap.leader.aggregation.bucket_add",
        "dap.leader.aggregation.rejections_add",
        "dap.leader.aggregation._delete",
    ],
)
def test_drive_killed_while_it_commits_counts_once_when_driven_again(place: str) -> None:
    pair = Pair()
    job = pair.planned(0, 1, 2)
    pair.network.faults.append(lost_answer)
    pair.drive(job.pk)
    with patch(place, side_effect=KilledError), pytest.raises(KilledError):
        pair.drive(job.pk)
    assert pair.counts() == (0, 3)
    pair.drive(job.pk)
    assert pair.counts() == (3, 3)


def test_drive_with_bad_shares_counts_the_rejection_where_it_was_found() -> None:
    pair = Pair()
    honest = [pair.report(0) for _ in range(3)]
    to_leader, to_helper, stolen, used = (pair.report(1) for _ in range(4))
    # The helper has used this identifier already, as if a device had reached it by another way.
    AggregatedReport.objects.create(task=pair.helper_task, report_id=used.report_metadata.report_id)
    tampered = [
        # Sealed shares of another report: they do not open under this report's identifier.
        dataclasses.replace(to_leader, leader_encrypted_input_share=stolen.leader_encrypted_input_share),
        dataclasses.replace(to_helper, helper_encrypted_input_share=stolen.helper_encrypted_input_share),
        pair.forged(),
        pair.garbled(),
        used,
    ]
    assert reports_upload(task=pair.task, reports=honest + tampered, now=pair.now) == []
    job = pair.collect()
    pair.settle(3)
    assert pair.collected(job).values == (3, 0, 0, 0)
    assert pair.counts() == (3, 3)
    assert pair.rejections() == {
        "leader": {"hpke_decrypt_error": 1, "invalid_message": 1},
        "helper": {"hpke_decrypt_error": 1, "vdaf_verify_error": 1, "report_replayed": 1},
    }


def test_drive_of_reports_that_are_all_bad_asks_the_helper_nothing() -> None:
    pair = Pair()
    reports_upload(task=pair.task, reports=[pair.garbled() for _ in range(3)], now=pair.now)
    pair.drive(pair.planned().pk)
    assert pair.network.requests == []
    assert pair.rejections()["leader"] == {"invalid_message": 3}
    assert not AggregationJob.objects.exists()


def test_drive_refused_for_good_counts_the_reports_and_logs_the_words() -> None:
    pair = Pair()
    job = pair.planned(0, 1, 2)
    pair.forget_at_helper()
    with capture_logs() as logs:
        pair.drive(job.pk)
    assert pair.counts()[0] == 0
    assert pair.rejections()["helper"] == {"job_refused": 3}
    assert not AggregationJob.objects.exists()
    (entry,) = logs
    assert (entry["event"], entry["job"]) == ("aggregation_job_refused", str(job.pk))
    assert "an operator's mistake" in entry["error"]


def test_log_of_a_failed_request_names_the_job_and_no_count_of_reports() -> None:
    # One report more or less is one device.
    pair = Pair()
    job = pair.planned(0, 1, 2)
    pair.network.faults.append(lost_request)
    with capture_logs() as logs:
        pair.drive(job.pk)
    (entry,) = logs
    assert (entry["event"], entry["request"]) == ("helper_request_failed", f"aggregation job {job.pk}")
    assert str(Uploads(pk=7, task=pair.task, count=3)) == str(Uploads(pk=7, task=pair.task, count=4))


Responses = list[VerifyResp]

NO_ANSWERS: dict[str, Callable[[Responses], Responses]] = {
    "order": lambda answers: answers[::-1],
    "ids": lambda answers: [dataclasses.replace(answers[0], report_id=bytes(16)), *answers[1:]],
    "fewer": lambda answers: answers[:-1],
    "finish": lambda answers: [dataclasses.replace(answers[0], outcome=Finish()), *answers[1:]],
}


@pytest.mark.parametrize("change", [*NO_ANSWERS, "nothing but noise"])
def test_drive_with_an_answer_that_is_none_to_its_request_asks_again(change: str) -> None:
    pair = Pair()
    job = pair.planned(0, 1, 2)

    def altered(send: Callable[[], Answer]) -> Answer:
        status, headers, body = send()
        answers = list(AggregationJobResp.decode(body).verify_resps)
        alter = NO_ANSWERS.get(change)
        encoded = b"\xff" if alter is None else AggregationJobResp(tuple(alter(answers))).encode()
        return pair.signed(encoded, status=status, Content_Type=headers["Content-Type"])

    pair.network.faults.append(altered)
    pair.drive(job.pk)
    assert AggregationJob.objects.get().last_error
    assert pair.counts() == (0, 3)
    pair.drive(job.pk)
    assert pair.counts() == (3, 3)


def test_drive_with_a_helper_that_answers_later_polls_where_it_was_told() -> None:
    pair = Pair()
    job = pair.planned(0, 1, 2)
    kept: list[Answer] = []

    def deferred(send: Callable[[], Answer]) -> Answer:
        kept.append(send())
        location = kept[0][1]["Location"] + "?step=0"
        return pair.signed(Location=location, Retry_After="30")

    pair.network.faults.append(deferred)
    pair.drive(job.pk)
    row = AggregationJob.objects.get()
    assert row.send_after == pair.now + timedelta(seconds=30)
    assert pair.counts() == (0, 3)
    pair.drive(job.pk)
    method, url, _ = pair.network.requests[-1]
    assert (method, url) == ("GET", f"https://helper.example{row.location}")
    assert pair.counts() == (3, 3)


def test_drive_with_a_report_too_early_for_the_helper_retries_it_later() -> None:
    pair = Pair()
    reports = pair.upload(0, 1, 2)
    job = pair.planned()
    ahead = reports[-1].report_metadata.report_id

    def opened(**arguments: Any) -> list[Any]:
        return [
            ReportError.REPORT_TOO_EARLY if share.report_metadata.report_id == ahead else result
            for share, result in zip(arguments["reports"], input_shares_open(**arguments), strict=True)
        ]

    def clock_behind(send: Callable[[], Answer]) -> Answer:
        """The helper's clock says that the last report was made in the future."""
        with patch("dap.helper.aggregation_jobs.input_shares_open", side_effect=opened):
            return send()

    pair.network.faults.append(clock_behind)
    pair.drive(job.pk)
    assert pair.counts() == (2, 2)
    assert Uploads.objects.get().count == 1
    pair.tick()
    assert Uploads.objects.get().job is None  # not at once
    collection = pair.collect(Interval(reports[0].report_metadata.time, 1))
    pair.settle(4)
    assert pair.collected(collection).values == (1, 1, 1, 0)
    assert pair.rejections() == {"leader": {}, "helper": {}}


def test_plan_of_an_open_task_waits_for_enough_reports_or_an_hour() -> None:
    closed = Pair(min_batch_size=3)
    closed.upload(0, 1)
    closed.close()
    pair = Pair(min_batch_size=3)
    pair.upload(0, 1)
    assert aggregation_jobs_plan(task=pair.task, now=pair.now) == []
    pair.upload(2)
    assert len(aggregation_jobs_plan(task=pair.task, now=pair.now)) == 1
    pair.upload(3)
    assert aggregation_jobs_plan(task=pair.task, now=pair.now) == []
    CLOCK.now += timedelta(hours=1)
    assert len(aggregation_jobs_plan(task=pair.task, now=pair.now)) == 1
    assert aggregation_jobs_plan(task=closed.task, now=pair.now) == [], "there will never be enough"


def test_plan_cuts_jobs_by_number_and_by_length(monkeypatch: pytest.MonkeyPatch) -> None:
    pair = Pair()
    pair.upload(0, 1)
    pair.upload(0, 1)
    pair.upload(0, 1)
    monkeypatch.setattr("dap.leader.aggregation.JOB_REPORTS", 4)
    aggregation_jobs_plan(task=pair.task, now=pair.now)
    assert sorted(AggregationJob.objects.values_list("count", flat=True)) == [2, 4]
    for _ in range(3):
        pair.upload(0)
    CLOCK.now += timedelta(hours=1)
    monkeypatch.setattr("dap.leader.aggregation.JOB_BYTES", 1)
    assert len(aggregation_jobs_plan(task=pair.task, now=pair.now)) == 3


def test_report_with_a_false_part_for_the_helper_is_in_neither_sum() -> None:
    """It is made so that one side would count it and the other not."""
    pair = Pair(vdaf=(3, Prio3SumVecConfig(4, 1, 2).encode()))
    vdaf = prio3_of(pair.configuration)
    metadata = ReportMetadata(secrets.token_bytes(16), pair.time)
    bad = misleading_report_of(vdaf, random.Random(1), context_of(pair.task_id), metadata.report_id)
    sealed = pair.sealed(metadata, bad.helper.public_share, (bad.leader.input_share, bad.helper.input_share))
    honest = [pair.report([1, 0, 1, 0]) for _ in range(3)]
    assert reports_upload(task=pair.task, reports=[honest[0], sealed, *honest[1:]], now=pair.now) == []
    pair.settle()
    job = pair.collect()
    pair.settle()
    assert pair.rejections() == {"leader": {}, "helper": {"vdaf_verify_error": 1}}
    assert pair.counts() == (3, 3)
    assert pair.collected(job).values == (3, 0, 3, 0)

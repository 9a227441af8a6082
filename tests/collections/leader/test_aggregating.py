"""Aggregation jobs: every report once on both sides, whatever is lost, doubled, late or killed."""

import dataclasses
from collections.abc import Callable, Mapping
from datetime import timedelta
from unittest.mock import patch

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.conf import settings
from structlog.testing import capture_logs

from dap.models import AggregatedReport
from leader.aggregating import aggregation_job_drive, aggregation_jobs_plan
from leader.models import AggregationJob, Uploads
from leader.results import TaskResult
from leader.selectors import progress_of
from leader.uploads import reports_upload
from panprivacy.dap.aggregation import AggregationJobResp, Finish
from panprivacy.dap.basics import Interval, ReportError
from panprivacy.dap.signatures import sign_response
from tests.collections.leader.pair import (
    CLOCK,
    FAULTS,
    Answer,
    Fault,
    KilledError,
    Pair,
    lost_answer,
    lost_request,
    one_hot_sum,
)

pytestmark = pytest.mark.django_db


def answered(
    send: Callable[[], Answer], pair: Pair, *, status: int, headers: Mapping[str, str], body: bytes
) -> Answer:
    """An answer of our making with the helper's signature, to the request that is on its way."""
    request_headers = pair.network.headers
    signing_key = Ed25519PrivateKey.from_private_bytes(settings.SIGNING_KEY)
    signed = sign_response(
        status=status, headers=headers, body=body, request_headers=request_headers, signing_key=signing_key
    )
    return status, {**headers, **signed}, body


def planned(pair: Pair) -> AggregationJob:
    """One job, of everything that waits."""
    CLOCK.now += timedelta(hours=1)
    (job,) = aggregation_jobs_plan(task=pair.task, now=pair.now)
    return AggregationJob.objects.get(pk=job)


def test_collect_after_uploads_gives_the_sum_of_honest_reports() -> None:
    pair = Pair()
    pair.upload(0, 1, 1, 3)
    job = pair.collect()
    pair.settle(3)
    result = pair.result(job)
    assert isinstance(result, TaskResult)
    assert (result.values, result.report_count) == (one_hot_sum([0, 1, 1, 3]), 4)
    assert pair.counts() == (4, 4)
    assert not Uploads.objects.exists()
    assert not AggregationJob.objects.exists()


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_drive_after_one_fault_counts_every_report_once_on_both_sides(fault: Fault) -> None:
    pair = Pair()
    pair.upload(0, 1, 2)
    job = pair.collect()
    pair.network.faults.append(fault)
    pair.settle()
    assert pair.counts() == (3, 3)
    result = pair.result(job)
    assert isinstance(result, TaskResult)
    assert result.values == (1, 1, 1, 0)
    assert pair.rejections() == {"leader": {}, "helper": {}}


def test_drive_after_every_fault_twice_sends_the_same_bytes_every_time() -> None:
    pair = Pair()
    pair.upload(0, 1, 2)
    job = planned(pair)
    pair.network.faults.extend(FAULTS * 2)
    for _ in range(2 * len(FAULTS) + 1):
        pair.tick()
        CLOCK.now += timedelta(minutes=6)
    assert not AggregationJob.objects.filter(pk=job.pk).exists()
    assert len({body for _, _, body in pair.network.requests}) == 1
    assert pair.counts() == (3, 3)


def test_drive_while_the_helper_is_away_for_a_month_keeps_trying_and_says_since_when() -> None:
    pair = Pair()
    pair.upload(0, 1, 2)
    planned(pair)
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
    pair.upload(0, 1, 2)
    planned(pair)
    pair.network.faults.extend([lost_request] * 100)
    for _ in range(90):
        pair.tick()
        CLOCK.now += timedelta(seconds=40)
    # An hour: at 1, 2, 4, … seconds first, each after a lease or a tick, then every five minutes.
    assert 15 <= len(pair.network.requests) <= 25


def test_drive_twice_at_once_commits_once() -> None:
    pair = Pair()
    pair.upload(0, 1, 2)
    job = planned(pair)
    # The second worker drives the same job from beginning to end while the first waits for its answer.
    pair.network.faults.append(lambda send: (pair.drive(job.pk), send())[1])
    pair.drive(job.pk)
    assert pair.counts() == (3, 3)
    assert pair.rejections() == {"leader": {}, "helper": {}}


def test_drive_that_prepares_twice_at_once_sends_one_request_only() -> None:
    pair = Pair()
    pair.upload(0, 1, 2)
    job = planned(pair)
    first = AggregationJob.objects.get(pk=job.pk)
    pair.drive(job.pk)
    # A worker that read the row before the other prepared it, and comes late.
    with patch("leader.aggregating._row", side_effect=[first, None]):
        pair.drive(job.pk)
    assert len(pair.network.requests) == 1
    assert pair.counts() == (3, 3)


@pytest.mark.parametrize(
    "place",
    ["leader.aggregating.bucket_add", "leader.aggregating.rejections_add", "leader.aggregating._delete"],
)
def test_drive_killed_while_it_commits_counts_once_when_driven_again(place: str) -> None:
    pair = Pair()
    pair.upload(0, 1, 2)
    job = planned(pair)
    pair.network.faults.append(lost_answer)
    pair.drive(job.pk)
    with patch(place, side_effect=KilledError), pytest.raises(KilledError):
        pair.drive(job.pk)
    assert pair.counts() == (0, 3)
    pair.drive(job.pk)
    assert pair.counts() == (3, 3)


def test_drive_with_shares_that_do_not_verify_counts_the_rejection_where_it_was_found() -> None:
    pair = Pair()
    honest = [pair.report(0) for _ in range(3)]
    to_leader, to_helper, stolen = pair.report(1), pair.report(1), pair.report(1)
    tampered = [
        # Sealed shares of another report: they do not open under this report's identifier.
        dataclasses.replace(to_leader, leader_encrypted_input_share=stolen.leader_encrypted_input_share),
        dataclasses.replace(to_helper, helper_encrypted_input_share=stolen.helper_encrypted_input_share),
        pair.forged(),
        pair.garbled(),
    ]
    assert reports_upload(task=pair.task, reports=honest + tampered, now=pair.now) == []
    job = pair.collect()
    pair.settle(3)
    result = pair.result(job)
    assert isinstance(result, TaskResult)
    assert result.values == (3, 0, 0, 0)
    assert pair.counts() == (3, 3)
    assert pair.rejections() == {
        "leader": {"hpke_decrypt_error": 1, "invalid_message": 1},
        "helper": {"hpke_decrypt_error": 1, "vdaf_verify_error": 1},
    }


def test_drive_of_reports_that_are_all_bad_asks_the_helper_nothing() -> None:
    pair = Pair()
    reports = [pair.garbled() for _ in range(3)]
    reports_upload(task=pair.task, reports=reports, now=pair.now)
    pair.drive(planned(pair).pk)
    assert pair.network.requests == []
    assert pair.rejections()["leader"] == {"invalid_message": 3}
    assert not AggregationJob.objects.exists()
    assert not Uploads.objects.exists()


def test_drive_refused_for_good_counts_every_report_as_refused_and_logs_the_helpers_words() -> None:
    pair = Pair()
    pair.upload(0, 1, 2)
    job = planned(pair)
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
    pair.upload(0, 1, 2)
    job = planned(pair)
    pair.network.faults.append(lost_request)
    with capture_logs() as logs:
        pair.drive(job.pk)
    (entry,) = logs
    assert (entry["event"], entry["request"]) == ("helper_request_failed", f"aggregation job {job.pk}")
    assert str(Uploads(pk=7, task=pair.task, count=3)) == str(Uploads(pk=7, task=pair.task, count=4))


@pytest.mark.parametrize("change", ["order", "ids", "fewer", "finish", "nothing but noise"])
def test_drive_with_an_answer_that_is_none_to_its_request_asks_again(change: str) -> None:
    pair = Pair()
    pair.upload(0, 1, 2)
    job = planned(pair)

    def altered(send: Callable[[], Answer]) -> Answer:
        status, headers, body = send()
        resps = list(AggregationJobResp.decode(body).verify_resps)
        if change == "order":
            resps.reverse()
        elif change == "ids":
            resps[0] = dataclasses.replace(resps[0], report_id=bytes(16))
        elif change == "fewer":
            resps.pop()
        elif change == "finish":
            resps[0] = dataclasses.replace(resps[0], outcome=Finish())
        encoded = b"\xff" if change == "nothing but noise" else AggregationJobResp(tuple(resps)).encode()
        kept = {"Content-Type": headers["Content-Type"]}
        return answered(send, pair, status=status, headers=kept, body=encoded)

    pair.network.faults.append(altered)
    pair.drive(job.pk)
    assert AggregationJob.objects.get().last_error
    assert pair.counts() == (0, 3)
    pair.drive(job.pk)
    assert pair.counts() == (3, 3)


def test_drive_with_a_helper_that_answers_later_polls_where_it_was_told() -> None:
    pair = Pair()
    pair.upload(0, 1, 2)
    job = planned(pair)
    kept: list[Answer] = []

    def deferred(send: Callable[[], Answer]) -> Answer:
        kept.append(send())
        location = kept[0][1]["Location"] + "?step=0"
        headers = {"Location": location, "Retry-After": "30", "Content-Type": ""}
        return answered(send, pair, status=200, headers=headers, body=b"")

    pair.network.faults.append(deferred)
    pair.drive(job.pk)
    row = AggregationJob.objects.get()
    assert row.send_after == pair.now + timedelta(seconds=30)
    assert pair.counts() == (0, 3)
    pair.drive(job.pk)
    method, url, _ = pair.network.requests[-1]
    assert (method, url) == ("GET", f"https://helper.example{row.location}")
    assert pair.counts() == (3, 3)


def test_drive_when_the_promised_answer_is_gone_sends_the_request_again() -> None:
    pair = Pair()
    pair.upload(0, 1, 2)
    job = planned(pair)
    pair.network.faults.append(lost_answer)
    pair.drive(job.pk)
    AggregationJob.objects.update(location="/helper/tasks/unknown")
    pair.network.faults.append(lambda send: answered(send, pair, status=404, headers={}, body=b"{}"))
    pair.drive(job.pk)
    pair.drive(job.pk)
    assert [method for method, _, _ in pair.network.requests] == ["POST", "GET", "POST"]
    assert pair.counts() == (3, 3)


def test_drive_with_a_report_too_early_for_the_helper_puts_it_into_a_later_job() -> None:
    pair = Pair()
    reports = pair.upload(0, 1, 2)
    job = planned(pair)

    def clock_behind(send: Callable[[], Answer]) -> Answer:
        """The helper's clock says that the last report was made in the future."""
        ahead = reports[-1].report_metadata.report_id
        with patch("helper.aggregating.input_shares_open", side_effect=early_for(ahead)):
            return send()

    pair.network.faults.append(clock_behind)
    pair.drive(job.pk)
    assert pair.counts() == (2, 2)
    assert Uploads.objects.get().count == 1
    pair.tick()
    assert Uploads.objects.get().job is None  # not at once
    collection = pair.collect(Interval(reports[0].report_metadata.time, 1))
    pair.settle(4)
    result = pair.result(collection)
    assert isinstance(result, TaskResult)
    assert result.values == (1, 1, 1, 0)
    assert pair.rejections() == {"leader": {}, "helper": {}}


def early_for(report_id: bytes) -> Callable[..., object]:
    from dap.input_shares import input_shares_open

    def opened(**arguments: object) -> list:
        return [
            ReportError.REPORT_TOO_EARLY if share.report_metadata.report_id == report_id else result
            for share, result in zip(arguments["reports"], input_shares_open(**arguments), strict=True)
        ]

    return opened


def test_plan_of_an_open_task_waits_for_enough_reports_or_an_hour() -> None:
    pair = Pair(min_batch_size=3)
    pair.upload(0, 1)
    assert aggregation_jobs_plan(task=pair.task, now=pair.now) == []
    pair.upload(2)
    assert len(aggregation_jobs_plan(task=pair.task, now=pair.now)) == 1
    pair.upload(3)
    assert aggregation_jobs_plan(task=pair.task, now=pair.now) == []
    CLOCK.now += timedelta(hours=1)
    assert len(aggregation_jobs_plan(task=pair.task, now=pair.now)) == 1


def test_plan_of_a_closed_task_that_has_too_few_reports_opens_nothing() -> None:
    pair = Pair(min_batch_size=3)
    pair.upload(0, 1)
    pair.close()
    CLOCK.now += timedelta(days=1)
    assert aggregation_jobs_plan(task=pair.task, now=pair.now) == []


def test_plan_cuts_jobs_by_number_and_by_length(monkeypatch: pytest.MonkeyPatch) -> None:
    pair = Pair()
    pair.upload(0, 1)
    pair.upload(0, 1)
    pair.upload(0, 1)
    monkeypatch.setattr("leader.aggregating.JOB_REPORTS", 4)
    aggregation_jobs_plan(task=pair.task, now=pair.now)
    assert sorted(AggregationJob.objects.values_list("count", flat=True)) == [2, 4]
    for _ in range(3):
        pair.upload(0)
    CLOCK.now += timedelta(hours=1)
    monkeypatch.setattr("leader.aggregating.JOB_BYTES", 1)
    assert len(aggregation_jobs_plan(task=pair.task, now=pair.now)) == 3


def test_drive_of_a_job_that_is_done_does_nothing() -> None:
    pair = Pair()
    pair.upload(0, 1, 2)
    job = planned(pair)
    pair.drive(job.pk)
    pair.network.requests.clear()
    aggregation_job_drive(job=job.pk, peer=pair.partner.client(), now=pair.now)
    assert pair.network.requests == []


def test_helper_that_rejects_a_report_which_verifies_here_takes_it_from_both_sums() -> None:
    pair = Pair()
    reports = pair.upload(0, 1, 2, 3)
    # The helper has used this identifier already, as if a device had reached it by another way.
    AggregatedReport.objects.create(task=pair.helper_task, report_id=reports[0].report_metadata.report_id)
    job = pair.collect()
    pair.settle(3)
    result = pair.result(job)
    assert isinstance(result, TaskResult)
    assert result.values == (0, 1, 1, 1)
    assert pair.rejections()["helper"] == {"report_replayed": 1}

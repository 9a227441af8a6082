"""What the helper answers, late, wrong, for good or in odd words: asked again, or a stated refusal."""

import json
import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from dap.helper.task_ends import helper_task_end
from dap.leader.collection import collection_job_advance, collection_job_drive
from dap.leader.exchange import LOCATION_ATTEMPTS, PATIENCE, WRONG_FOR
from dap.leader.models import AggregationJob, CollectionJob
from dap.leader.selectors import progress_of
from dap.leader.uploads import reports_upload
from dap.models import BatchBucket, Side, Task
from log.audit.models import Entry
from panprivacy.protocols.dap.aggregation import AggregationJobResp, Reject, VerifyResp
from panprivacy.protocols.dap.basics import Interval, ReportError
from panprivacy.protocols.dap.media import problem_type
from tests.collections.dap.leader.scene import CLOCK, DOCUMENT, HELPER_URL, HOUR, Answer, Fault, Pair

pytestmark = pytest.mark.django_db

BAD_LOCATIONS = {
    "no host": "http://[",
    "a space": "/helper/x y",
    "a control character": "/helper/\x7f",
    "too long": f"{HELPER_URL}/{'a' * 600}",
    "another host": "http://evil.example/x",
    "another host, without scheme": "//127.0.0.1:1/x",
    "no port": "https://helper.example:x/helper/y",
    "no path": "later",
    "nothing": None,
}


def later(pair: Pair, location: str | None) -> Fault:
    """The helper promises the answer for later."""
    promised = {} if location is None else {"Location": location}
    return lambda send: pair.signed(Retry_After="1", **promised)


def nobody(send: Callable[[], Answer]) -> Answer:
    """A proxy that knows no such path."""
    return 404, {}, b"<h1>Not found</h1>"


@pytest.mark.parametrize("location", BAD_LOCATIONS.values(), ids=BAD_LOCATIONS)
def test_drive_with_a_promise_for_no_address_of_the_helper_asks_again(location: str | None) -> None:
    pair = Pair()
    job = pair.planned(0, 1, 2)
    pair.network.faults.append(later(pair, location))
    pair.drive(job.pk)
    row = AggregationJob.objects.get()
    assert (row.location, row.failing_since) == ("", pair.now)
    assert "address" in row.last_error
    pair.drive(job.pk)
    assert [method for method, _, _ in pair.network.requests] == ["POST", "POST"]
    assert pair.counts() == (3, 3)


@pytest.mark.parametrize("attempts", [1, LOCATION_ATTEMPTS], ids=["the helper says so", "a proxy says so"])
def test_drive_when_the_promised_answer_is_gone_asks_anew(attempts: int) -> None:
    pair = Pair()
    job = pair.planned(0, 1, 2)
    gone: Fault = nobody if attempts > 1 else lambda send: pair.signed(b"{}", status=404)
    pair.network.faults.extend([later(pair, "/helper/moved/away"), *[gone] * attempts])
    for _ in range(attempts + 1):
        pair.drive(job.pk)
    row = AggregationJob.objects.get()
    assert (row.location, row.failing_since) == ("", pair.now if attempts > 1 else None)
    pair.drive(job.pk)
    methods = [method for method, _, _ in pair.network.requests]
    assert methods == ["POST", *["GET"] * attempts, "POST"]
    assert len({body for method, _, body in pair.network.requests if method == "POST"}) == 1
    assert pair.counts() == (3, 3)


def test_promise_after_a_failure_does_not_make_it_forgotten() -> None:
    pair = Pair()
    job = pair.planned(0, 1, 2)
    began = pair.now
    pair.network.faults.extend([nobody, later(pair, "/helper/later")])
    for _ in range(2):
        pair.drive(job.pk)
        assert progress_of(task=pair.task).failing_since == began
        CLOCK.now += timedelta(seconds=30)


@pytest.mark.parametrize("retried", [False, True], ids=["at its place", "by asking again"])
def test_answer_that_is_promised_for_ever_is_shown_as_a_silent_helper(retried: bool) -> None:
    pair = Pair()
    job = pair.planned(0, 1, 2)
    began = pair.now
    promise = later(pair, "/helper/later")
    # Where it was promised, the helper knows nothing of it any more: all begins again.
    forgotten: Fault = lambda send: pair.signed(status=404)  # noqa: E731  # named for its type
    pair.network.faults.extend([promise, forgotten if retried else promise] * 50)
    pair.drive(job.pk)
    assert progress_of(task=pair.task).failing_since is None  # nothing is wrong with that
    while pair.now < began + PATIENCE:
        CLOCK.now += timedelta(seconds=30)
        pair.drive(job.pk)
    for _ in range(2):
        pair.drive(job.pk)
        progress = progress_of(task=pair.task)
        assert progress.failing_since == began
        assert "promise" in progress.last_error
    pair.network.faults.clear()
    AggregationJob.objects.update(location="")
    pair.drive(job.pk)
    assert pair.counts() == (3, 3)


def test_task_that_the_helper_ended_takes_nothing_and_is_not_collected() -> None:
    pair = Pair()
    pair.upload(0, 1, 2)
    pair.settle(2)
    helper_task_end(task=pair.helper_task, reason="restored from a backup", now=pair.now)
    pair.upload(0, 1, 2)
    pair.settle()
    pair.task.refresh_from_db()
    assert pair.task.state == Task.State.CLOSED
    assert "restored from a backup" in pair.task.outcome
    assert pair.rejections()[Side.HELPER] == {"job_refused": 3}
    [status] = reports_upload(task=pair.task, reports=[pair.report(1)], now=pair.now)
    assert status.error is ReportError.REPORT_DROPPED
    job = pair.collect()
    pair.settle()
    result = pair.refused(job)
    assert result.problem == "unrecognizedTask"
    assert "restored from a backup" in result.detail


def test_helper_that_answers_nonsense_is_asked_again_then_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    nonsense = AggregationJobResp((VerifyResp(bytes(16), Reject(ReportError.REPORT_DROPPED)),)).encode()
    monkeypatch.setattr("dap.helper.views.aggregation_job_create", lambda **_: (bytes(16), nonsense))
    pair = Pair()
    pair.upload(0, 1, 2)
    pair.tick()
    pair.tick()
    assert AggregationJob.objects.get().attempts > 0
    CLOCK.now += WRONG_FOR
    pair.settle()
    assert not AggregationJob.objects.exists()
    assert pair.rejections()[Side.HELPER] == {"job_refused": 3}
    assert pair.counts() == (0, 0)


def test_job_that_the_helper_finds_too_large_waits_and_shows_why(settings: Any) -> None:
    settings.JOB_REPORTS = 2
    pair = Pair()
    pair.upload(0, 1, 2)
    pair.settle()
    assert pair.rejections() == {"leader": {}, "helper": {}}
    assert AggregationJob.objects.get().count == 3
    assert "A job has at most 2 reports." in progress_of(task=pair.task).last_error

    settings.JOB_REPORTS = 3
    pair.settle()
    assert pair.counts() == (3, 3)
    assert not AggregationJob.objects.exists()


def test_batch_too_small_at_the_helper_alone_ends_without_its_count() -> None:
    """As after a backup was restored there."""
    pair = Pair(min_batch_size=30, interval=Interval(HOUR, 1), document=DOCUMENT)
    pair.upload(*[0] * 30)
    pair.settle()
    BatchBucket.objects.filter(task=pair.helper_task).update(report_count=29)
    pair.close()
    pair.settle()
    result = pair.refused()
    assert result.problem == "invalidBatchSize"
    told = [result.detail, *(str(entry.details) for entry in Entry.objects.all())]
    # Hashes and keys in the log are longer, and may hold any two digits.
    assert not [text for text in told if re.search(r"(?<![0-9A-Za-z+/_-])29(?![0-9A-Za-z+/_=-])", text)]


def test_collection_that_is_refused_in_odd_words_ends_with_the_refusal() -> None:
    """Words that no database stores, and more of them than a page shows."""
    pair = Pair()
    pair.upload(0, 1, 2)
    job = pair.collect()
    pair.tick()
    collection_job_advance(job=CollectionJob.objects.get(pk=job.pk), now=pair.now)
    problem = json.dumps({"type": problem_type("batchMismatch"), "detail": "a\0\ud800" + "b" * 100_000})
    pair.network.faults.append(lambda send: pair.signed(problem.encode(), status=409))
    collection_job_drive(job=job.pk, peer=pair.partner.client(), now=pair.now)
    refusal = pair.refused(job)
    assert refusal.problem == "batchMismatch"
    assert refusal.detail.startswith("The helper refused its share: a")
    assert refusal.detail.isprintable()

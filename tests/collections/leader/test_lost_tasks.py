"""A helper that has ended a task, or answers with nonsense for good: a stated refusal, and nothing waits."""

import pytest

from dap.models import Side, Task
from helper.ending import helper_task_end
from leader.exchange import WRONG_FOR
from leader.models import AggregationJob
from leader.results import Refusal
from leader.uploads import reports_upload
from panprivacy.dap.aggregation import AggregationJobResp, Reject, VerifyResp
from panprivacy.dap.basics import ReportError
from tests.collections.leader.pair import CLOCK, Pair

pytestmark = pytest.mark.django_db


def test_task_that_the_helper_has_ended_takes_no_more_reports_and_says_why() -> None:
    pair = Pair()
    pair.upload(0, 1, 2)
    helper_task_end(task=pair.helper_task, reason="restored from a backup", now=pair.now)
    pair.settle()
    pair.task.refresh_from_db()
    assert pair.task.state == Task.State.CLOSED
    assert "restored from a backup" in pair.task.outcome
    assert pair.rejections()[Side.HELPER] == {"job_refused": 3}
    [status] = reports_upload(task=pair.task, reports=[pair.report(1)], now=pair.now)
    assert status.error is ReportError.REPORT_DROPPED


def test_collection_of_a_task_that_the_helper_has_ended_is_refused_with_its_words() -> None:
    pair = Pair()
    pair.upload(0, 1, 2)
    pair.settle(2)
    helper_task_end(task=pair.helper_task, reason="the review is over", now=pair.now)
    pair.upload(0, 1, 2)
    pair.settle()
    job = pair.collect()
    pair.settle()
    result = pair.result(job)
    assert isinstance(result, Refusal)
    assert result.problem == "unrecognizedTask"
    assert "the review is over" in result.detail


def test_helper_that_answers_nonsense_is_asked_again_and_given_up_in_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    nonsense = AggregationJobResp((VerifyResp(bytes(16), Reject(ReportError.REPORT_DROPPED)),)).encode()
    monkeypatch.setattr("helper.views.aggregation_job_create", lambda **_: (bytes(16), nonsense))
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

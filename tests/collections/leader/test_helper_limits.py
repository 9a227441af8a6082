"""A helper that takes less than the leader sends, or has less than the leader knows."""

import re
from typing import Any

import pytest

from audit.models import Entry
from dap.models import BatchBucket
from leader.models import AggregationJob
from leader.results import Refusal, task_result
from leader.selectors import progress_of
from panprivacy.dap.basics import Interval
from tests.collections.leader.pair import DOCUMENT, HOUR, Pair


@pytest.mark.django_db
def test_job_that_the_helper_finds_too_large_waits_with_the_reason_shown_and_counts_once_it_is_taken(
    settings: Any,
) -> None:
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


@pytest.mark.django_db
def test_batch_that_is_too_small_at_the_helper_alone_ends_without_its_count_in_words_or_log() -> None:
    """As after a backup was restored there."""
    pair = Pair(min_batch_size=30, interval=Interval(HOUR, 1), document=DOCUMENT)
    pair.upload(*[0] * 30)
    pair.settle()
    BatchBucket.objects.filter(task=pair.helper_task).update(report_count=29)
    pair.close()
    pair.settle()
    result = task_result(pair.task)
    assert isinstance(result, Refusal)
    assert result.problem == "invalidBatchSize"
    told = [result.detail, *(str(entry.details) for entry in Entry.objects.all())]
    # Hashes and keys in the log are longer, and may hold any two digits.
    assert not [text for text in told if re.search(r"(?<![0-9A-Za-z+/_-])29(?![0-9A-Za-z+/_=-])", text)]

"""A helper that takes less than the leader sends: reports wait, and none is lost."""

from typing import Any

import pytest

from leader.models import AggregationJob
from leader.selectors import progress_of
from tests.collections.leader.pair import Pair


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

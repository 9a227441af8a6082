"""Sums that could wrap round the VDAF's field are refused, never shown: they would look like any other."""

import pytest

from dap.models import BatchBucket
from leader.results import Refusal, TaskResult
from leader.uploads import reports_upload
from panprivacy.dap.basics import Interval
from panprivacy.dap.vdafs import Prio3SumConfig
from panprivacy.prio3.field import FIELD64
from tests.collections.leader.pair import Pair

pytestmark = pytest.mark.django_db

LARGEST = (FIELD64.modulus - 1) // 3
"""Three measurements of this size have a sum in the field; of four, only what is left of it."""


@pytest.fixture
def pair() -> Pair:
    return Pair(vdaf=(2, Prio3SumConfig(LARGEST).encode()), min_batch_size=3)


def test_collect_of_as_many_reports_as_the_field_can_sum_is_exact(pair: Pair) -> None:
    pair.upload(*[LARGEST] * 3)
    job = pair.collect()
    pair.settle(3)
    result = pair.result(job)
    assert isinstance(result, TaskResult)
    assert result.values == (3 * LARGEST,)


def test_collect_of_more_reports_than_the_field_can_sum_is_refused_and_collects_nothing(pair: Pair) -> None:
    hour = pair.time
    for time in (hour - 1, hour):
        reports = [pair.report(LARGEST, time=time) for _ in range(3)]
        assert reports_upload(task=pair.task, reports=reports, now=pair.now) == []
    both, latter = pair.collect(Interval(hour - 1, 2)), pair.collect(Interval(hour, 1))
    pair.settle(3)
    refusal = pair.result(both)
    assert isinstance(refusal, Refusal)
    assert refusal.problem == "batchInvalid"
    assert "more than 3 reports may have wrapped round" in refusal.detail
    result = pair.result(latter)
    assert isinstance(result, TaskResult)
    assert result.values == (3 * LARGEST,)
    assert BatchBucket.objects.filter(task=pair.task, collected=True).count() == 1

"""Reports of plain tasks made so that one side would count them and the other not."""

import random
import secrets

import pytest

from leader.results import TaskResult
from leader.uploads import reports_upload
from panprivacy.dap.upload import ReportMetadata
from panprivacy.dap.vdafs import Prio3SumVecConfig, context_of, prio3_of
from panprivacy.prio3.prio3 import Prio3SumVec
from tests.collections.leader.pair import Pair
from tests.panprivacy.prio3.variants import misleading_report_of

SUM_VEC = 3


@pytest.mark.django_db
def test_report_with_a_false_part_for_the_helper_is_rejected_and_its_batch_can_be_collected() -> None:
    pair = Pair(vdaf=(SUM_VEC, Prio3SumVecConfig(4, 1, 2).encode()))
    vdaf = prio3_of(pair.configuration)
    assert isinstance(vdaf, Prio3SumVec)
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
    result = pair.result(job)
    assert isinstance(result, TaskResult)
    assert (result.report_count, tuple(result.values)) == (3, (3, 0, 3, 0))

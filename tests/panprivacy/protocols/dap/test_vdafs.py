"""A task's configuration says which VDAF clients and aggregators run."""

import dataclasses
import random

import pytest

from panprivacy.protocols.dap.basics import BatchMode, Role
from panprivacy.protocols.dap.task import TaskConfiguration
from panprivacy.protocols.dap.vdafs import (
    MAX_LENGTH,
    PRIO3,
    Prio3CountConfig,
    Prio3HistogramConfig,
    Prio3L1BoundSumConfig,
    Prio3L2BoundSumConfig,
    Prio3MultihotCountVecConfig,
    Prio3SumConfig,
    Prio3SumVecConfig,
    UnsupportedVdafError,
    context_of,
    prio3_of,
    verifier_for,
)
from panprivacy.protocols.prio3.field import FIELD64
from panprivacy.protocols.prio3.interface import ReportInput, Transition

TASK_ID = bytes(range(32))
VERIFY_KEY = bytes(range(32, 64))
NONCE = bytes(range(16))


def configuration_of(vdaf_type: int, encoded: bytes) -> TaskConfiguration:
    return TaskConfiguration(
        task_info=b"info",
        leader_aggregator_endpoint="https://leader.example",
        helper_aggregator_endpoint="https://helper.example",
        time_precision=3600,
        min_batch_size=2,
        batch_mode=BatchMode.TIME_INTERVAL,
        batch_config=b"",
        vdaf_type=vdaf_type,
        vdaf_configuration=encoded,
    )


# Worked out by hand from the draft's appendix, with two measurements and their sum.
EXAMPLES = {
    "Prio3Count": (1, Prio3CountConfig(), "", (1, 0), (1,)),
    "Prio3Sum": (2, Prio3SumConfig(255), "00000000000000ff", (200, 7), (207,)),
    "Prio3SumVec": (3, Prio3SumVecConfig(3, 7, 2), "00000003 0000000000000007 00000002",
                    ([1, 2, 7], [0, 1, 7]), (1, 3, 14)),
    "Prio3Histogram": (4, Prio3HistogramConfig(4, 2), "00000004 00000002", (3, 1), (0, 1, 0, 1)),
    "Prio3MultihotCountVec": (
        5, Prio3MultihotCountVecConfig(4, 2, 3), "00000004 00000002 0000000000000003",
        ([True, False, True, True], [True, False, False, False]), (2, 0, 1, 1)),
    "Prio3L1BoundSum": (7, Prio3L1BoundSumConfig(3, 9, 4), "00000003 0000000000000009 00000004",
                        ([4, 5, 0], [0, 1, 0]), (4, 6, 0)),
    "Prio3L2BoundSum": (
        0xFFFF1002, Prio3L2BoundSumConfig(3, 5, 30, 4),
        "00000003 0000000000000005 000000000000001e 00000004",
        ([5, 10, 3], [4, 5, 5]), (9, 15, 8)),
}  # fmt: skip


@pytest.mark.parametrize(
    ("vdaf_type", "config", "encoded", "measurements", "total"), EXAMPLES.values(), ids=EXAMPLES
)
def test_verifiers_of_a_task_sum_what_its_clients_shard(vdaf_type, config, encoded, measurements, total):
    """Client, leader and helper read the same parameters from the same bytes."""
    assert config.encode() == bytes.fromhex(encoded)
    configuration = configuration_of(vdaf_type, bytes.fromhex(encoded))
    vdaf = prio3_of(configuration)
    assert vdaf.identifier == vdaf_type
    leader, helper = (
        verifier_for(configuration, TASK_ID, role, VERIFY_KEY) for role in (Role.LEADER, Role.HELPER)
    )
    leader_shares, helper_shares = [], []
    for number, measurement in enumerate(measurements):
        nonce = bytes([number]) * 16
        public_share, shares = vdaf.shard(
            b"dap-18" + TASK_ID, measurement, nonce, random.Random(number).randbytes(vdaf.rand_size)
        )
        [first] = leader.leader_init([ReportInput(nonce, public_share, shares[0])])
        assert isinstance(first, Transition)
        [second] = helper.helper_init([ReportInput(nonce, public_share, shares[1])], [first.outbound])
        assert isinstance(second, Transition)
        leader_shares += leader.leader_finish([first.state], [second.outbound])
        helper_shares.append(second.out_share)
    found = leader.unshard(leader.aggregate(leader_shares), helper.aggregate(helper_shares), 2)
    assert found == total


def test_prio3_table_names_parameters_as_the_vdafs_do():
    assert list(PRIO3) == [1, 2, 3, 4, 5, 7, 0xFFFF1002]
    for vdaf_type, (message, vdaf) in PRIO3.items():
        assert message.__name__ == f"{vdaf.__name__}Config"
        assert EXAMPLES[vdaf.__name__][0] == vdaf_type


def test_context_is_the_drafts_tag_and_the_task():
    assert context_of(TASK_ID) == b"dap-18" + TASK_ID


@pytest.mark.parametrize("vdaf_type", [0, 6, 0xFFFF0000])
def test_verifier_for_an_unknown_vdaf_is_refused(vdaf_type):
    with pytest.raises(UnsupportedVdafError, match="VDAF"):
        verifier_for(configuration_of(vdaf_type, b""), TASK_ID, Role.LEADER, VERIFY_KEY)


@pytest.mark.parametrize(
    ("vdaf_type", "config"),
    [
        (2, Prio3SumConfig(0)),
        (2, Prio3SumConfig(2**64 - 1)),
        (3, Prio3SumVecConfig(0, 1, 1)),
        (3, Prio3SumVecConfig(3, 1, 0)),
        (4, Prio3HistogramConfig(MAX_LENGTH + 1, 4)),
        (4, Prio3HistogramConfig(4, 2**32 - 1)),
        (5, Prio3MultihotCountVecConfig(4, 2, 5)),
    ],
)
def test_verifier_for_parameters_that_nobody_could_run_is_refused(vdaf_type, config):
    with pytest.raises(UnsupportedVdafError, match="must be"):
        verifier_for(configuration_of(vdaf_type, config.encode()), TASK_ID, Role.LEADER, VERIFY_KEY)


@pytest.mark.parametrize("min_batch_size", [2, 3, 1000])
def test_vdaf_whose_sums_could_wrap_round_the_field_is_refused(min_batch_size):
    most = (FIELD64.modulus - 1) // min_batch_size
    encoded = [Prio3SumConfig(largest).encode() for largest in (most, most + 1)]
    good, bad = (
        dataclasses.replace(configuration_of(2, each), min_batch_size=min_batch_size) for each in encoded
    )
    assert prio3_of(good).largest_batch == min_batch_size
    with pytest.raises(UnsupportedVdafError, match=f"min_batch_size: must be at most {min_batch_size - 1} "):
        prio3_of(bad)

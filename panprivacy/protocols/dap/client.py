"""A client's report: two shares of a measurement, each sealed to its aggregator (DAP 18, section 4.4.2)."""

import random
from dataclasses import dataclass
from typing import Any

from panprivacy.protocols.dap.basics import REPORT_ID_BYTES, HpkeConfig, Role
from panprivacy.protocols.dap.hpke import seal_input_share
from panprivacy.protocols.dap.task import TaskConfiguration
from panprivacy.protocols.dap.upload import InputShareAad, PlaintextInputShare, Report, ReportMetadata
from panprivacy.protocols.dap.vdafs import context_of, prio3_of


@dataclass(frozen=True)
class ShardedReport:
    """An unsealed report. Both input shares together give the measurement."""

    metadata: ReportMetadata
    public_share: bytes
    leader_share: bytes
    helper_share: bytes


def shard_measurement(
    task_id: bytes,
    configuration: TaskConfiguration,
    measurement: Any,
    *,
    time: int,
    random_source: random.Random,
    report_id: bytes | None = None,
) -> ShardedReport:
    """A report of a plain Prio3 task.

    Args:
        measurement: in the form of the task's VDAF: a number, a bucket, or a vector.
        time: in units of the task's time precision, since 1970.
        random_source: `secrets.SystemRandom()`.
        report_id: 16 bytes, if a token fixes them; otherwise they are drawn.

    Raises:
        UnsupportedVdafError, InvalidMessageError: as in `prio3_of`.
        FieldError: not a measurement of this VDAF.
    """
    vdaf = prio3_of(configuration)
    if report_id is None:
        report_id = random_source.randbytes(REPORT_ID_BYTES)
    public_share, (leader_share, helper_share) = vdaf.shard(
        context_of(task_id), measurement, report_id, random_source.randbytes(vdaf.rand_size)
    )
    return ShardedReport(ReportMetadata(report_id, time), public_share, leader_share, helper_share)


def seal_report(
    report: ShardedReport,
    task_id: bytes,
    configuration: TaskConfiguration,
    leader_config: HpkeConfig,
    helper_config: HpkeConfig,
    random_source: random.Random,
) -> Report:
    """The report for upload. The same may be sealed again, to other keys; it still counts once.

    Raises:
        HpkeSealError: nothing can be sealed to a configuration.
        InvalidMessageError: a part that no report can hold.
    """
    aad = InputShareAad(task_id, configuration, report.metadata, report.public_share)
    sealed = [
        seal_input_share(config, role, aad, PlaintextInputShare((), share), random_source)
        for config, role, share in (
            (leader_config, Role.LEADER, report.leader_share),
            (helper_config, Role.HELPER, report.helper_share),
        )
    ]
    return Report(report.metadata, report.public_share, *sealed)

"""Opening results, if this process is the collector (DAP draft 18, section 4.5.5)."""

from dataclasses import dataclass

from dap.leader.models import CollectionJob, Collector
from dap.models import Task
from dap.operations import configuration_of, verifier_of
from panprivacy.protocols.dap.basics import HpkeConfig, Interval, Role
from panprivacy.protocols.dap.collection import AggregateShareAad, CollectionJobReq, CollectionJobResp
from panprivacy.protocols.dap.hpke import open_aggregate_share
from panprivacy.protocols.hpke import HpkeOpenError
from panprivacy.protocols.prio3.interface import InexactSumError, InvalidShareError
from storage.columns import stored_bytes
from storage.sealing import secret_unseal

COLLECTOR_KEY = b"dap collector key\n"
"""Kind of secret, for the seal of a collector's HPKE private key."""

TOO_FEW = "invalidBatchSize"
"""DAP's refusal of a batch below the smallest size."""

State = CollectionJob.State


@dataclass(frozen=True)
class TaskResult:
    """The result of one batch.

    Attributes:
        report_count: reports that both sides verified and added up.
        values: the aggregate, one number if the VDAF's result is one; exact.
        interval: the smallest that holds the times of these reports, in units of the time precision.
    """

    report_count: int
    values: tuple[int, ...]
    interval: Interval


@dataclass(frozen=True)
class Refusal:
    """That there is no result, nor will there be.

    Attributes:
        problem: a DAP error, e.g. `invalidBatchSize`, or `refused`, or `undecryptable`.
        detail: a sentence.
    """

    problem: str
    detail: str

    @property
    def is_too_few(self) -> bool:
        """Whether the batch is smaller than the task's batches must be."""
        return self.problem == TOO_FEW


def task_result(task: Task) -> TaskResult | Refusal | None:
    """What came of a task that is collected once; None while that is under way."""
    job = CollectionJob.objects.filter(task=task).exclude(state=State.DELETED).order_by("pk").first()
    return None if job is None else collection_result(job)


def collection_result(job: CollectionJob) -> TaskResult | Refusal | None:
    """What came of a collection job; None while it is under way.

    Raises:
        Collector.DoesNotExist: another process is the collector.
    """
    if job.state == State.FAILED:
        return Refusal(job.problem, job.detail)
    if job.state != State.READY:
        return None
    response = CollectionJobResp.decode(stored_bytes(job.response))
    collector = Collector.objects.exclude(hpke_key=None).get(task=job.task)
    config = HpkeConfig.decode(bytes(job.task.collector_config))
    private_key = secret_unseal(
        stored_bytes(collector.hpke_key), kind=COLLECTOR_KEY, owner=bytes(job.task.task_id)
    )
    configuration = configuration_of(job.task)
    aad = AggregateShareAad(
        bytes(job.task.task_id), configuration, CollectionJobReq.decode(bytes(job.request))
    )
    shares = (
        (Role.LEADER, response.leader_encrypted_agg_share),
        (Role.HELPER, response.helper_encrypted_agg_share),
    )
    try:
        leader, helper = (
            open_aggregate_share(config, private_key, role, aad, sealed) for role, sealed in shares
        )
        values = verifier_of(job.task).unshard(leader, helper, response.report_count)
    except (HpkeOpenError, InvalidShareError, InexactSumError) as error:
        return Refusal("undecryptable", f"The aggregate shares cannot be put together: {error}.")
    return TaskResult(response.report_count, values, response.interval)

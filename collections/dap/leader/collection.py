"""From a collector's query to both aggregate shares (DAP draft 18, section 4.5).

A batch is taken in one transaction that also stores, byte for byte, what the helper will be asked: from
then on nothing is added to it, and the same request is sent until the helper has answered.
"""

import hashlib
import secrets
import uuid
from datetime import datetime

import structlog
from django.db import transaction
from django.db.models import Max, Q

from dap.buckets import Collected, batch_collect, buckets_of
from dap.errors import BatchInvalidError, BatchOverlapError, IdentifierTakenError, TaskEndedError
from dap.input_shares import TIME_LEEWAY
from dap.leader.end_notices import end_notice_owe
from dap.leader.errors import CollectionRefusedError
from dap.leader.exchange import REFUSED, exchange_ask, exchange_failed, is_wrong_for_good
from dap.leader.models import AggregationJob, CollectionJob, HelperCount, Planning, Uploads
from dap.leader.operations import task_lose
from dap.leader.progress_signal import task_moved
from dap.leader.results import TOO_FEW
from dap.leader.selectors import is_collected_by_itself, published_count, reports_possible, smallest_batch
from dap.models import BatchBucket, CollectedInterval, Task
from dap.operations import configuration_of, task_lock, verifier_of
from panprivacy.formats.tls_messages import InvalidMessageError
from panprivacy.protocols.dap.basics import BatchMode, HpkeCiphertext, HpkeConfig, Interval, Role
from panprivacy.protocols.dap.collection import (
    AggregateShare,
    AggregateShareAad,
    AggregateShareReq,
    BatchSelector,
    CollectionJobReq,
    CollectionJobResp,
)
from panprivacy.protocols.dap.dialects import AGGREGATE_SHARES
from panprivacy.protocols.dap.hpke import seal_aggregate_share
from panprivacy.protocols.prio3.interface import InexactSumError
from partners.client import UNRECOGNIZED_TASK, PeerClient, PeerRefusedError, PeerUnavailableError
from partners.helper_calls import count_signed_at_helper, is_count_refused
from storage.columns import stored, stored_bytes, total

logger = structlog.get_logger(__name__)

State = CollectionJob.State

COUNT_ATTEMPTS = 5
"""Failed attempts after which a result does without the helper's count."""


def collection_job_key(*, task: Task, chosen: bytes) -> uuid.UUID:
    """The primary key of the job with an identifier of the collector's choice. Those of two tasks differ."""
    return uuid.UUID(bytes=hashlib.sha256(bytes(task.task_id) + chosen).digest()[:16])


def collection_job_create(
    *, task: Task, request: CollectionJobReq, now: datetime, chosen: bytes | None = None
) -> CollectionJob:
    """Begin a collection job, or find that it exists: the same request is the same job until it is deleted.

    One that was refused for too few reports begins anew.

    Args:
        chosen: the job's identifier (16 bytes), if the collector chose it; equal requests under others are
            other jobs.

    Raises:
        IdentifierTakenError: another request has the chosen identifier.
        CollectionRefusedError: no such batch can be collected, or not while the task is open.
        TaskEndedError: the task's shares are deleted.
    """
    encoded = request.encode()
    digest = hashlib.sha256(encoded + (chosen or b"")).digest()
    key = uuid.uuid4() if chosen is None else collection_job_key(task=task, chosen=chosen)
    with transaction.atomic():
        task = Task.objects.select_for_update(no_key=True).get(pk=task.pk)
        if task.state == Task.State.ENDED:
            raise TaskEndedError(task.outcome or "the task has ended")
        if task.state == Task.State.OPEN and is_collected_by_itself(task=task):
            # Its one collection is that of all its reports: no other may precede it.
            detail = "This task is collected as a whole, once it takes no more reports."
            raise CollectionRefusedError("batchInvalid", detail)
        same = CollectionJob.objects.filter(task=task, digest=digest).exclude(state=State.DELETED).first()
        if same is None:
            if CollectionJob.objects.filter(pk=key).exists():
                raise IdentifierTakenError
            interval = _queried_interval(task, request)
            return CollectionJob.objects.create(
                pk=key,
                task=task,
                request=encoded,
                digest=digest,
                start=interval.start if interval else None,
                end=interval.end if interval else None,
                uploads_until=_last_upload(task),
                send_after=now,
            )
        if same.state == State.FAILED and same.problem == TOO_FEW and same.share_request is None:
            same.state, same.problem, same.detail = State.WAITING, "", ""
            same.uploads_until = _last_upload(task)
            same.save(update_fields=["state", "problem", "detail", "uploads_until"])
        return same


@transaction.atomic
def collection_job_delete(*, job: CollectionJob) -> None:
    """Forget a collection job and its result. What it collected stays collected; a batch that it had only
    chosen is left to the next job. Idempotent."""
    task_lock(task=job.task)
    locked = CollectionJob.objects.select_for_update().filter(pk=job.pk).first()
    if locked is None:  # deleted with its task
        return
    if locked.state == State.WAITING:
        locked.batch_id = None
    locked.state = State.DELETED
    locked.share_request = locked.leader_share = locked.response = None
    locked.save(update_fields=["state", "batch_id", "share_request", "leader_share", "response"])


def collection_job_advance(*, job: CollectionJob, now: datetime) -> None:
    """Take the batch of a job that waits, once all reports of it are counted and there are enough; refuse the
    job if there never will be."""
    # Checked before locking: usually it is too early.
    is_due = job.task.outcome != "" or _is_out_of_reach(job.task) or _is_settled(job.task, job)
    if job.state != State.WAITING or not is_due:
        return
    with transaction.atomic():
        # Additions to a batch lock this row: nothing is added while it is taken.
        task = task_lock(task=job.task)
        locked = CollectionJob.objects.select_for_update().filter(pk=job.pk, state=State.WAITING).first()
        if locked is not None and task.state != Task.State.ENDED:
            _advance(task, locked, now)


def collection_job_drive(*, job: uuid.UUID, peer: PeerClient, now: datetime) -> None:
    """Ask the helper for its share of a batch that was taken. May run at any time, twice at once, or die
    anywhere."""
    row = CollectionJob.objects.select_related("task").filter(pk=job, state=State.ASKING).first()
    if row is None:
        return
    try:
        answer = exchange_ask(
            row,
            peer=peer,
            resource=AGGREGATE_SHARES,
            body=stored_bytes(row.share_request),
            message=AggregateShareReq,
            now=now,
        )
        if answer is not None:
            _ask_count_and_complete(row, AggregateShare.decode(answer), peer, now)
    except PeerRefusedError as refusal:
        if refusal.token == UNRECOGNIZED_TASK:
            task_lose(task=row.task, words=str(refusal))
        _end_asking(row, refusal.token or REFUSED, f"The helper refused its share: {refusal}", now)
    except InvalidMessageError as error:
        if is_wrong_for_good(row, now):
            _end_asking(row, REFUSED, f"The helper's answer is no share: {error}", now)
        else:
            exchange_failed(row, error=str(error), now=now)


@transaction.atomic
def _end_asking(row: CollectionJob, problem: str, words: str, now: datetime) -> None:
    task = task_lock(task=row.task)
    locked = _still_asking(row)
    if locked is not None:
        _refuse(task, locked, problem, words, now)


def _queried_interval(task: Task, request: CollectionJobReq) -> Interval | None:
    """The interval of a valid query; None in mode leader_selected."""
    configuration = configuration_of(task)
    if request.query.batch_mode is not configuration.batch_mode:
        mode = configuration.batch_mode.name.lower()
        raise CollectionRefusedError("invalidMessage", f"The batch mode of this task is {mode}.")
    if request.agg_param:
        raise CollectionRefusedError("invalidAggregationParameter", "It must be empty for this VDAF.")
    if request.extensions:
        raise CollectionRefusedError("unsupportedExtension", "No collection job extension is known.")
    if configuration.batch_mode is BatchMode.LEADER_SELECTED:
        return None
    interval = request.query.interval
    try:
        buckets_of(task, BatchSelector.of_interval(interval))
    except BatchInvalidError as error:
        raise CollectionRefusedError("batchInvalid", str(error)) from None
    over = CollectedInterval.objects.filter(task=task, start__lt=interval.end, end__gt=interval.start)
    if over.exists():
        raise CollectionRefusedError("batchOverlap", "A part of this interval was collected before.")
    return interval


def _last_upload(task: Task) -> int:
    return Uploads.objects.filter(task=task).aggregate(last=Max("pk"))["last"] or 0


def _is_out_of_reach(task: Task) -> bool:
    """Whether no batch can become large enough any more, so that nothing that waits needs opening."""
    return task.state == Task.State.CLOSED and reports_possible(task=task) < smallest_batch(task=task)


def _is_settled(task: Task, job: CollectionJob) -> bool:
    """Whether every report of the batch is counted or rejected."""
    jobs = AggregationJob.objects.filter(task=task)
    uploads = Uploads.objects.filter(task=task)
    if job.start is not None and job.end is not None:
        inside = Q(first_time__lt=job.end, last_time__gte=job.start)
        jobs, uploads = jobs.filter(inside), uploads.filter(inside)
        if task.state == Task.State.OPEN:
            # What comes in meanwhile must not put the collection off for ever.
            uploads = uploads.filter(pk__lte=job.uploads_until)
    elif job.batch_id is not None:
        # Other jobs, and uploads, belong to other batches.
        jobs, uploads = jobs.filter(batch_id=job.batch_id), uploads.none()
    elif task.state == Task.State.OPEN:
        return True
    return not jobs.exists() and not uploads.exists()


def _advance(task: Task, job: CollectionJob, now: datetime) -> None:
    """Take or refuse the batch, or go on waiting. Both rows are locked."""
    if task.outcome:
        _refuse(task, job, UNRECOGNIZED_TASK, task.outcome, now)
        return
    configuration = configuration_of(task)
    smallest = smallest_batch(task=task)
    least = configuration.min_batch_size  # words are shown, the margin is not
    too_few = f"There are too few reports for a batch of this task, which has at least {least:,}."
    if job.start is None and job.batch_id is None:
        _choose_batch(task, job, smallest)
    if not _is_settled(task, job):
        if _is_out_of_reach(task):
            _refuse(task, job, TOO_FEW, too_few, now)
        return
    if _counted(task, job) >= smallest:
        _take(task, job, now)
        return
    is_over = (
        job.end is not None and job.end * configuration.time_precision <= (now - TIME_LEEWAY).timestamp()
    )
    if task.state != Task.State.OPEN or is_over:
        _refuse(task, job, TOO_FEW, too_few, now)
        return
    # The next round waits for what has come in since.
    job.uploads_until = _last_upload(task)
    job.save(update_fields=["uploads_until"])


def _choose_batch(task: Task, job: CollectionJob, smallest: int) -> None:
    """Give the job a batch that has enough reports; if it is the one that is open, the next reports open
    another.

    Older ones first: one that a deleted job had chosen takes no more reports, and no other job needs it.
    """
    filled = BatchBucket.objects.filter(task=task, collected=False, report_count__gte=smallest)
    chosen = CollectionJob.objects.filter(task=task, state=State.WAITING).exclude(batch_id=None)
    filled = filled.exclude(identifier__in=chosen.values("batch_id"))
    batch_id = filled.order_by("pk").values_list("identifier", flat=True).first()
    if batch_id is None:
        return
    job.batch_id = batch_id
    job.save(update_fields=["batch_id"])
    Planning.objects.filter(task=task, batch_id=batch_id).update(batch_id=None)


def _selector(job: CollectionJob) -> BatchSelector | None:
    """None if the batch is not known yet."""
    if job.start is not None and job.end is not None:
        return BatchSelector.of_interval(Interval(job.start, job.end - job.start))
    return None if job.batch_id is None else BatchSelector.of_batch(bytes(job.batch_id))


def _counted(task: Task, job: CollectionJob) -> int:
    selector = _selector(job)
    buckets = BatchBucket.objects.none() if selector is None else buckets_of(task, selector)
    return total(buckets, "report_count")


def _take(task: Task, job: CollectionJob, now: datetime) -> None:
    """Collect the batch on our side, and store what the helper will be asked."""
    selector = _selector(job)
    if selector is None:
        raise ValueError("only a batch that is known can be collected")
    verifier = verifier_of(task)
    try:
        with transaction.atomic():
            collected = batch_collect(task=task, selector=selector, verifier=verifier)
            verifier.require_exact(collected.report_count)
    except BatchOverlapError as error:
        _refuse(task, job, "batchOverlap", str(error), now)
        return
    except InexactSumError as error:
        # Nothing was collected: a collector may ask for shorter intervals.
        _refuse(task, job, "batchInvalid", f"There are too many reports: {error}.", now)
        return
    request = CollectionJobReq.decode(bytes(job.request))
    job.share_request = AggregateShareReq(
        request, selector, collected.report_count, collected.checksum
    ).encode()
    job.leader_share = _sealed(task, request, collected).encode()
    job.report_count = collected.report_count
    job.first_time, job.span = collected.interval.start, collected.interval.duration
    job.state, job.send_after = State.ASKING, now
    job.save()


def _sealed(task: Task, request: CollectionJobReq, collected: Collected) -> HpkeCiphertext:
    return seal_aggregate_share(
        HpkeConfig.decode(bytes(task.collector_config)),
        Role.LEADER,
        AggregateShareAad(bytes(task.task_id), configuration_of(task), request),
        collected.aggregate_share,
        secrets.SystemRandom(),
    )


def _ask_count_and_complete(
    row: CollectionJob, share: AggregateShare, peer: PeerClient, now: datetime
) -> None:
    """The end of a job that went well. For a task that is collected once, the helper first reports how many
    reports it added up, and signs the number that will be published: the result is shown with what each side
    reports."""
    count = None
    if is_collected_by_itself(task=row.task):
        try:
            count = _counted_at_helper(row, peer)
        except (PeerUnavailableError, PeerRefusedError) as error:
            if is_count_refused(error):
                raise
            if isinstance(error, PeerUnavailableError) and row.attempts < COUNT_ATTEMPTS:
                exchange_failed(row, error=str(error), now=now)
                return
            # There is a result without it, which states so.
            logger.warning("helper_count_unknown", task=str(row.task), error=str(error))
    _complete(row, share, count)


def _counted_at_helper(row: CollectionJob, peer: PeerClient) -> HelperCount:
    task_id = bytes(row.task.task_id)
    published = published_count(task=row.task, counted=stored(row.report_count))
    signed = count_signed_at_helper(peer, task_id=task_id, reports=published)
    return HelperCount(report_count=signed.report_count, signature=signed.signature)


@transaction.atomic
def _complete(row: CollectionJob, share: AggregateShare, helper_count: HelperCount | None) -> None:
    locked = _still_asking(row)
    if locked is None:
        return
    if helper_count is not None:
        helper_count.task = row.task
        helper_count.save(force_insert=True)
    locked.response = CollectionJobResp(
        stored(locked.report_count),
        Interval(stored(locked.first_time), stored(locked.span)),
        HpkeCiphertext.decode(stored_bytes(locked.leader_share)),
        share.encrypted_aggregate_share,
    ).encode()
    locked.state, locked.failing_since, locked.last_error = State.READY, None, ""
    locked.save()
    task_moved.send(Task, task_id=bytes(row.task.task_id))


def _still_asking(row: CollectionJob) -> CollectionJob | None:
    """The row, locked; None if it has come to an end meanwhile."""
    return CollectionJob.objects.select_for_update().filter(pk=row.pk, state=State.ASKING).first()


def _refuse(task: Task, job: CollectionJob, problem: str, detail: str, now: datetime) -> None:
    """The end of a job that cannot be; for a task that is collected once, the helper is notified. Both rows
    are locked."""
    job.state, job.problem, job.detail = State.FAILED, problem, detail[:300]
    job.failing_since, job.last_error = None, ""
    job.save()
    if task.state == Task.State.CLOSED and is_collected_by_itself(task=task):
        # There will be no other collection, so waiting uploads are useless. No job takes uploads in any more
        # (`aggregation_jobs_plan`); they may be millions, and the next check deletes them.
        AggregationJob.objects.filter(task=task).delete()
        end_notice_owe(task=task, reason=detail, now=now)
    task_moved.send(Task, task_id=bytes(task.task_id))

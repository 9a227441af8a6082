"""From uploads to batch buckets, with the helper: each report once, whatever crashes.

Three steps, each one transaction that a repetition finds done: uploads are put together to a job; a worker
opens and verifies the leader's shares and stores the request; the helper's answer is committed and the job
deleted. Computing and sending happen between the transactions. The helper gives the same answer to the same
request, so it does not matter how often a job is sent, or how often its answer arrives.
"""

import secrets
import uuid
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog
from django.db import transaction
from django.db.models import QuerySet

from dap.buckets import CommittedShare, bucket_add, bucket_identifier
from dap.errors import TaskEndedError
from dap.input_shares import input_shares_open, report_error_of
from dap.leader.exchange import UnexpectedAnswerError, exchange_ask, exchange_failed, is_wrong_for_good
from dap.leader.models import AggregationJob, CollectionJob, Planning, Uploads
from dap.leader.operations import task_lose
from dap.leader.selectors import is_refused, reports_possible, smallest_batch, uploads_waiting
from dap.leader.sizes import JOB_BYTES
from dap.leader.states import states_join, states_split
from dap.leader.uploads import uploads_store
from dap.limits import JOB_REPORTS
from dap.models import Side, Task
from dap.operations import configuration_of, rejections_add, task_hold_alive, verifier_of
from dap.selectors import times_collected
from panprivacy.formats.tls_messages import InvalidMessageError
from panprivacy.protocols.dap.aggregation import (
    AggregationJobInitReq,
    AggregationJobResp,
    Continue,
    Finish,
    Reject,
    ReportShare,
    VerifyInit,
    leader_selected_batch_id_extension,
)
from panprivacy.protocols.dap.basics import BATCH_ID_BYTES, BatchMode, ReportError
from panprivacy.protocols.dap.dialects import AGGREGATION_JOBS
from panprivacy.protocols.dap.upload import Report, UploadRequest
from panprivacy.protocols.prio3.interface import Transition, Verifier
from partners.client import UNRECOGNIZED_TASK, PeerClient, PeerRefusedError
from storage.columns import stored_bytes, total

logger = structlog.get_logger(__name__)

JOB_REFUSED = "job_refused"
"""The reason of rejection for reports whose whole job the helper refused: our own reason. Each of
DAP's reasons is about a single report."""

MINIMUM_REPORTS = 500
"""Reports of an open task that are taken in together, at least (or the smallest batch, if smaller)."""

LONGEST_REST = timedelta(hours=1)
"""After which fewer are taken in too: the keys that open them do not live for ever."""

RETURN_AFTER = timedelta(minutes=1)
"""Time after which a report that came too early is checked again."""


def aggregation_jobs_plan(*, task: Task, now: datetime) -> list[uuid.UUID]:
    """Put the uploads that wait into jobs.

    While the task is open and no collection is under way, fewer than `MINIMUM_REPORTS` wait for more. Of a
    closed task that cannot reach its smallest batch any more, nothing is opened at all.

    Returns:
        The new jobs, which are due at once.
    """
    # Checked before locking: usually there is nothing to plan.
    if not _is_worth_planning(task, now):
        return []
    with transaction.atomic():
        # One planner at a time, and none while a batch is collected. Reports may come in meanwhile.
        locked = Task.objects.select_for_update(no_key=True).get(pk=task.pk)
        if locked.state == Task.State.ENDED or is_refused(task=locked):
            return []
        groups = _groups(_plannable(locked, now).order_by("pk").defer("payload"))
        if not groups:
            return []
        planning, _ = Planning.objects.get_or_create(task=task, defaults={"planned_at": now})
        planning.planned_at = now
        if configuration_of(task).batch_mode is BatchMode.LEADER_SELECTED:
            planning.batch_id = planning.batch_id or secrets.token_bytes(BATCH_ID_BYTES)
        planning.save()
        jobs = [
            AggregationJob(
                task=task,
                batch_id=planning.batch_id,
                count=sum(row.count for row in group),
                first_time=min(row.first_time for row in group),
                last_time=max(row.last_time for row in group),
                send_after=now,
            )
            for group in groups
        ]
        AggregationJob.objects.bulk_create(jobs)
        for job, group in zip(jobs, groups, strict=True):
            Uploads.objects.filter(task=task, pk__in=[row.pk for row in group]).update(job=job.pk)
        return [job.pk for job in jobs]


def aggregation_job_drive(*, job: uuid.UUID, peer: PeerClient, now: datetime) -> None:
    """Advance one job as far as possible: prepare its request, send it, commit the answer.

    Does nothing if there is no such job: it is done. May run at any time, twice at once, or die anywhere.
    """
    try:
        row = _row(job)
        if row is not None and row.request is None:
            row = _prepare(row, now)
        if row is not None:
            _send(row, peer, now)
    except TaskEndedError:
        # The job was deleted with its task.
        return


def _send(row: AggregationJob, peer: PeerClient, now: datetime) -> None:
    try:
        answer = exchange_ask(
            row,
            peer=peer,
            resource=AGGREGATION_JOBS,
            body=stored_bytes(row.request),
            message=AggregationJobInitReq,
            now=now,
        )
        if answer is not None:
            _commit(row, AggregationJobResp.decode(answer), now)
    except PeerRefusedError as refusal:
        if refusal.token == UNRECOGNIZED_TASK:
            task_lose(task=row.task, words=str(refusal))
        _give_up(row, str(refusal))
    except (InvalidMessageError, UnexpectedAnswerError) as error:
        if is_wrong_for_good(row, now):
            _give_up(row, str(error))
        else:
            exchange_failed(row, error=str(error), now=now)


def _is_worth_planning(task: Task, now: datetime) -> bool:
    waiting = total(_plannable(task, now), "count")
    if waiting == 0:
        return False
    smallest = smallest_batch(task=task)
    if task.state != Task.State.OPEN:
        return reports_possible(task=task) >= smallest
    planned = Planning.objects.filter(task=task).first()
    last = planned.planned_at if planned else task.created_at
    collecting = CollectionJob.objects.filter(task=task, state=CollectionJob.State.WAITING)
    enough = waiting >= min(MINIMUM_REPORTS, smallest)
    return enough or now - last >= LONGEST_REST or collecting.exists()


def _plannable(task: Task, now: datetime) -> QuerySet[Uploads]:
    """Uploads that may go into jobs now. What arrived for an interval after the round in which it is
    collected began waits for the next round, which otherwise would never end."""
    rows = uploads_waiting(task=task, now=now)
    if task.state != Task.State.OPEN:
        return rows
    waiting = CollectionJob.objects.filter(task=task, state=CollectionJob.State.WAITING).exclude(start=None)
    for job in waiting:
        rows = rows.exclude(pk__gt=job.uploads_until, first_time__lt=job.end, last_time__gte=job.start)
    return rows


def _groups(rows: Iterable[Uploads]) -> list[list[Uploads]]:
    """Rows in their order, put together as far as a job takes them."""
    groups: list[list[Uploads]] = []
    count = size = 0
    for row in rows:
        count, size = count + row.count, size + row.size
        if not groups or count > JOB_REPORTS or size > JOB_BYTES:
            groups.append([])
            count, size = row.count, row.size
        groups[-1].append(row)
    return groups


def _row(job: uuid.UUID) -> AggregationJob | None:
    return AggregationJob.objects.select_related("task").filter(pk=job).first()


def _reports_of(job: AggregationJob) -> list[Report]:
    uploads = Uploads.objects.filter(task=job.task_id, job=job.pk)
    payloads = uploads.order_by("pk").values_list("payload", flat=True)
    return [report for payload in payloads for report in UploadRequest.decode(bytes(payload)).reports]


@dataclass(frozen=True)
class _Verified:
    """What opening and verifying the leader's shares of a job yields."""

    inits: Sequence[VerifyInit]
    states: Sequence[bytes]
    rejected: Counter[str]
    early: Sequence[Report]


def _prepare(row: AggregationJob, now: datetime) -> AggregationJob | None:
    """Store the request of a job, and give the job with it; delete a job that has nothing left to send."""
    verified = _verify(row.task, _reports_of(row), now)
    extensions = () if row.batch_id is None else (leader_selected_batch_id_extension(bytes(row.batch_id)),)
    request = AggregationJobInitReq(0, b"", extensions, tuple(verified.inits)).encode()
    with transaction.atomic():
        task_hold_alive(task=row.task)
        locked = AggregationJob.objects.select_for_update().filter(pk=row.pk, request=None).first()
        if locked is None:
            # Another process was first, and may have sent what is stored.
            return _row(row.pk)
        uploads_store(task=row.task, reports=verified.early, not_before=now + RETURN_AFTER)
        rejections_add(task=row.task, side=Side.LEADER, reasons=verified.rejected)
        if not verified.inits:
            _delete(locked)
            return None
        locked.request, locked.states = request, states_join(verified.states)
        locked.count = len(verified.inits)
        locked.save(update_fields=["request", "states", "count"])
    locked.task = row.task
    return locked


def _verify(task: Task, reports: Sequence[Report], now: datetime) -> _Verified:
    rejected: Counter[str] = Counter()
    # No batch is collected while a job adds to it: a report that is in time now still is at the commit.
    late = times_collected(task=task, times={report.report_metadata.time for report in reports})
    in_time = [report for report in reports if report.report_metadata.time not in late]
    rejected[ReportError.BATCH_COLLECTED.reason] += len(reports) - len(in_time)
    shares = [
        ReportShare(report.report_metadata, report.public_share, report.leader_encrypted_input_share)
        for report in in_time
    ]
    opened = input_shares_open(task=task, side=Side.LEADER, reports=shares, now=now)
    early = [r for r, share in zip(in_time, opened, strict=True) if share is ReportError.REPORT_TOO_EARLY]
    candidates = []
    for report, share in zip(in_time, opened, strict=True):
        if not isinstance(share, ReportError):
            candidates.append((report, share))
        elif share is not ReportError.REPORT_TOO_EARLY:
            rejected[share.reason] += 1
    results = verifier_of(task).leader_init([share for _, share in candidates])
    inits, states = [], []
    for (report, _), result in zip(candidates, results, strict=True):
        if isinstance(result, Transition):
            half = ReportShare(
                report.report_metadata, report.public_share, report.helper_encrypted_input_share
            )
            inits.append(VerifyInit(half, result.outbound))
            states.append(result.state)
        else:
            rejected[report_error_of(result).reason] += 1
    return _Verified(inits, states, +rejected, early)


def _commit(row: AggregationJob, answer: AggregationJobResp, now: datetime) -> None:
    """Add what both sides found valid to the buckets, count the rest, and delete the job: all or nothing.

    Raises:
        UnexpectedAnswerError: not an answer to this request.
    """
    inits = AggregationJobInitReq.decode(stored_bytes(row.request)).verify_inits
    if [resp.report_id for resp in answer.verify_resps] != [init.report_id for init in inits]:
        raise UnexpectedAnswerError("the answer is about other reports than the request")
    if any(isinstance(resp.outcome, Finish) for resp in answer.verify_resps):
        raise UnexpectedAnswerError("the answer leaves out a verification message")
    rejected = Counter(
        resp.outcome.report_error for resp in answer.verify_resps if isinstance(resp.outcome, Reject)
    )
    early_ids = {
        resp.report_id
        for resp in answer.verify_resps
        if isinstance(resp.outcome, Reject) and resp.outcome.report_error is ReportError.REPORT_TOO_EARLY
    }
    del rejected[ReportError.REPORT_TOO_EARLY]
    early = [r for r in _reports_of(row) if r.report_metadata.report_id in early_ids] if early_ids else []
    verifier = verifier_of(row.task)
    buckets, failed = _finish(row, inits, answer, verifier)
    with transaction.atomic():
        task_hold_alive(task=row.task)
        locked = AggregationJob.objects.select_for_update().filter(pk=row.pk).first()
        if locked is None:
            return
        for identifier, shares in sorted(buckets.items()):
            bucket_add(task=row.task, identifier=identifier, shares=shares, verifier=verifier)
        helper_reasons = {error.reason: count for error, count in rejected.items()}
        rejections_add(task=row.task, side=Side.HELPER, reasons=helper_reasons)
        rejections_add(task=row.task, side=Side.LEADER, reasons=failed)
        uploads_store(task=row.task, reports=early, not_before=now + RETURN_AFTER)
        _delete(locked)


def _finish(
    row: AggregationJob, inits: Sequence[VerifyInit], answer: AggregationJobResp, verifier: Verifier
) -> tuple[dict[bytes, list[CommittedShare]], Counter[str]]:
    """Output shares by bucket, and why there is none of some reports."""
    configuration = configuration_of(row.task)
    batch_id = None if row.batch_id is None else bytes(row.batch_id)
    states = states_split(stored_bytes(row.states))
    going_on = [
        (init.report_share.report_metadata, state, resp.outcome.payload)
        for init, state, resp in zip(inits, states, answer.verify_resps, strict=True)
        if isinstance(resp.outcome, Continue)
    ]
    results = verifier.leader_finish([state for _, state, _ in going_on], [p for _, _, p in going_on])
    buckets: dict[bytes, list[CommittedShare]] = defaultdict(list)
    failed: Counter[str] = Counter()
    for (metadata, _, _), result in zip(going_on, results, strict=True):
        if isinstance(result, bytes):
            identifier = bucket_identifier(configuration, metadata.time, batch_id)
            buckets[identifier].append(CommittedShare(metadata.report_id, metadata.time, result))
        else:
            # The helper took a report in that does not verify: collecting will report that counts differ.
            failed[report_error_of(result).reason] += 1
    return buckets, failed


def _give_up(row: AggregationJob, why: str) -> None:
    """End a job that the helper refused for good, or answers with nonsense: its reports count as rejected
    there. The log has the reason.

    Should the helper have counted them all the same, collecting will find that the counts differ.
    """
    with transaction.atomic():
        task_hold_alive(task=row.task)
        locked = AggregationJob.objects.select_for_update().filter(pk=row.pk).first()
        if locked is None:
            return
        rejections_add(task=row.task, side=Side.HELPER, reasons={JOB_REFUSED: locked.count})
        _delete(locked)
    logger.warning("aggregation_job_refused", job=str(row.pk), task=str(row.task), error=why)


def _delete(locked: AggregationJob) -> None:
    Uploads.objects.filter(task=locked.task_id, job=locked.pk).delete()
    locked.delete()

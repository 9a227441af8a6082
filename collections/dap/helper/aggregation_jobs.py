"""Aggregation jobs on the helper's side (DAP 18, section 4.4): one request, one answer, one transaction.

A kill at any moment leaves either nothing of a job or all of it, its answer included. So the leader may ask
again until it has the answer, and gets the same one each time.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.conf import settings
from django.db import transaction

from dap.admission import Rejection, dap_error_of, token_check_of
from dap.buckets import CommittedShare, bucket_add, bucket_identifier
from dap.errors import BatchCollectedError
from dap.helper.answers import Identity, answer_stored, identity_of
from dap.helper.limits import job_check
from dap.helper.models import AggregationJob
from dap.input_shares import input_shares_open, report_error_of
from dap.limits import TooManyReportsError
from dap.models import Side, Task
from dap.operations import configuration_of, rejections_add, reports_claim, task_hold_alive, verifier_of
from panprivacy.formats.tls_messages import InvalidMessageError
from panprivacy.protocols.dap.aggregation import (
    AggregationJobInitReq,
    AggregationJobResp,
    Continue,
    Reject,
    VerifyInit,
    VerifyResp,
)
from panprivacy.protocols.dap.basics import BatchMode, ReportError, UnsupportedExtensionError
from panprivacy.protocols.prio3.interface import Rejected, ReportInput, Transition, Verifier
from partners.problems import dap_problem
from web.problems import Problem

VERIFICATION_KEY_ID = 0
"""A task has one verification key, drawn before any report, and it never changes."""

Outcome = Transition | Rejection
"""The outcome of one report, until it is known whether it was already used."""


@dataclass(frozen=True)
class _Verified:
    """A job's reports with everything computed that needs no lock."""

    inits: Sequence[VerifyInit]
    outcomes: Sequence[Outcome]
    used: frozenset[bytes]
    batch_id: bytes | None
    verifier: Verifier


def aggregation_job_create(
    *, task: Task, body: bytes, now: datetime, chosen: bytes | None = None
) -> tuple[bytes, bytes]:
    """Verify the reports of an AggregationJobInitReq and add up those that are good.

    Args:
        body: the request; equal bodies get equal answers, even if they arrive at once.
        chosen: the job's identifier, if the leader chose it; equal bodies under others are other jobs.

    Returns:
        The job's identifier (16 bytes) and the encoded AggregationJobResp.

    Raises:
        Problem: the request is refused as a whole; nothing was done.
        IdentifierTakenError, TaskEndedError: likewise.
    """
    identity = identity_of(task, body, chosen)
    stored = answer_stored(AggregationJob, task=task, identity=identity)
    if stored is None:
        stored = _commit(task, identity, _verify(task, _read(task, body), now))
    return identity.resource_id, stored


def _read(task: Task, body: bytes) -> AggregationJobInitReq:
    try:
        job_check(body, settings.JOB_REPORTS)
        request = AggregationJobInitReq.decode(body)
        batch_id = request.leader_selected_batch_id()
    except TooManyReportsError as error:
        raise Problem("too-many-reports", "The job is too large", 413, str(error)) from None
    except UnsupportedExtensionError as error:
        types = list(error.types)
        raise dap_problem("unsupportedExtension", str(error), unsupported_extensions=types) from None
    except InvalidMessageError as error:
        raise dap_problem("invalidMessage", str(error)) from None
    leader_selects = configuration_of(task).batch_mode is BatchMode.LEADER_SELECTED
    if leader_selects != (batch_id is not None):
        must = "must" if leader_selects else "must not"
        raise dap_problem("invalidMessage", f"A job of this batch mode {must} name a batch identifier.")
    if request.agg_param:
        raise dap_problem("invalidAggregationParameter", "The aggregation parameter must be empty.")
    if request.verification_key_id != VERIFICATION_KEY_ID:
        detail = f"The only verification key of this task has the identifier {VERIFICATION_KEY_ID}."
        raise dap_problem("invalidMessage", detail)
    if not request.verify_inits:
        raise dap_problem("invalidMessage", "A job has at least one report.")
    return request


def _verify(task: Task, request: AggregationJobInitReq, now: datetime) -> _Verified:
    """Everything expensive, outside of any transaction."""
    inits = request.verify_inits
    verifier = verifier_of(task)
    # Checked first: the leader's claim is not enough, and no other check is cheaper.
    token_check = token_check_of(task)
    refused = {
        init.report_id: error
        for init in inits
        if (error := token_check(init.report_share.report_metadata)) is not None
    }
    admitted = [init for init in inits if init.report_id not in refused]
    opened = input_shares_open(
        task=task, side=Side.HELPER, reports=[init.report_share for init in admitted], now=now
    )
    readable = [
        (share, init) for share, init in zip(opened, admitted, strict=True) if isinstance(share, ReportInput)
    ]
    prepared = verifier.helper_init([share for share, _ in readable], [init.payload for _, init in readable])
    results = {init.report_id: _outcome(result) for (_, init), result in zip(readable, prepared, strict=True)}
    unreadable = {
        init.report_id: share
        for share, init in zip(opened, admitted, strict=True)
        if isinstance(share, ReportError)
    }
    outcomes: dict[bytes, Outcome] = {**refused, **unreadable, **results}
    return _Verified(
        inits=inits,
        outcomes=[outcomes[init.report_id] for init in inits],
        used=frozenset(results),
        batch_id=request.leader_selected_batch_id(),
        verifier=verifier,
    )


def _outcome(result: Transition | Rejected) -> Outcome:
    return result if isinstance(result, Transition) else report_error_of(result)


@transaction.atomic
def _commit(task: Task, identity: Identity, verified: _Verified) -> bytes:
    task_hold_alive(task=task)
    # Waits for the other that commits the same request at this moment, and then finds its answer.
    job, is_new = AggregationJob.objects.get_or_create(
        task=task, resource_id=identity.resource_id, defaults={"answer": b"", "digest": identity.digest}
    )
    if not is_new:
        identity.require_same(job)
        return bytes(job.answer)
    # An identifier is used up by the first verification, whatever came of it: an attacker cannot try several
    # shares or messages under one identifier to learn which of them are accepted.
    fresh = reports_claim(task=task, report_ids=verified.used)
    replayed = verified.used - fresh
    outcomes: dict[bytes, Outcome] = {
        init.report_id: ReportError.REPORT_REPLAYED if init.report_id in replayed else outcome
        for init, outcome in zip(verified.inits, verified.outcomes, strict=True)
    }
    _add_to_buckets(task, verified, outcomes)
    answer = AggregationJobResp(
        tuple(VerifyResp(report_id, _told(outcome)) for report_id, outcome in outcomes.items())
    ).encode()
    rejected = Counter(outcome.reason for outcome in outcomes.values() if not isinstance(outcome, Transition))
    rejections_add(task=task, side=Side.HELPER, reasons=rejected)
    AggregationJob.objects.filter(task=task, resource_id=identity.resource_id).update(answer=answer)
    return answer


def _told(outcome: Outcome) -> Continue | Reject:
    return Continue(outcome.outbound) if isinstance(outcome, Transition) else Reject(dap_error_of(outcome))


def _add_to_buckets(task: Task, verified: _Verified, outcomes: dict[bytes, Outcome]) -> None:
    """Add the good ones; those whose batch was collected become rejections in `outcomes`."""
    configuration = configuration_of(task)
    buckets: dict[bytes, list[CommittedShare]] = defaultdict(list)
    for init in verified.inits:
        outcome = outcomes[init.report_id]
        if isinstance(outcome, Transition):
            time = init.report_share.report_metadata.time
            identifier = bucket_identifier(configuration, time, verified.batch_id)
            buckets[identifier].append(CommittedShare(init.report_id, time, outcome.out_share))
    for identifier, shares in sorted(buckets.items()):
        try:
            bucket_add(task=task, identifier=identifier, shares=shares, verifier=verified.verifier)
        except BatchCollectedError:
            for share in shares:
                outcomes[share.report_id] = ReportError.BATCH_COLLECTED

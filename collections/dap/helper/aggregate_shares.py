"""Aggregate shares: released once per batch, of enough reports, and of the same as the leader's (DAP 18,
section 4.5.4)."""

import secrets

from django.db import transaction

from dap.buckets import Collected, batch_collect
from dap.errors import BatchInvalidError, BatchOverlapError
from dap.helper.actions import SHARE_RELEASED
from dap.helper.answers import Identity, answer_stored, identity_of
from dap.helper.models import ReleasedShare
from dap.models import Task
from dap.operations import configuration_of, task_lock, verifier_of
from log.audit.operations import entry_append
from panprivacy.formats.tls_messages import InvalidMessageError
from panprivacy.protocols.dap.basics import HpkeConfig, Role
from panprivacy.protocols.dap.collection import (
    AggregateShare,
    AggregateShareAad,
    AggregateShareReq,
    InvalidExtensionError,
)
from panprivacy.protocols.dap.hpke import seal_aggregate_share
from panprivacy.protocols.dap.task import TaskConfiguration
from panprivacy.protocols.prio3.interface import Verifier
from partners.problems import dap_problem


def aggregate_share_release(*, task: Task, body: bytes, chosen: bytes | None = None) -> tuple[bytes, bytes]:
    """Close the batch that an AggregateShareReq means, and seal our share of its sum to the collector.

    Whatever the leader claims, the share is one of at least `min_batch_size` reports that we verified, each
    once, and no report of it ever is in another.

    Args:
        body: the request; equal bodies get equal answers.
        chosen: the share's identifier, if the leader chose it.

    Returns:
        The share's identifier (16 bytes) and the encoded AggregateShare.

    Raises:
        Problem: refused; nothing was done, and the batch is as open as before.
        IdentifierTakenError, TaskEndedError: likewise.
    """
    identity = identity_of(task, body, chosen)
    stored = answer_stored(ReleasedShare, task=task, identity=identity)
    if stored is None:
        stored = _release(task, identity, _read(task, body), verifier_of(task))
    return identity.resource_id, stored


def _read(task: Task, body: bytes) -> AggregateShareReq:
    try:
        request = AggregateShareReq.decode(body)
    except InvalidExtensionError as error:
        raise dap_problem("invalidExtension", str(error)) from None
    except InvalidMessageError as error:
        raise dap_problem("invalidMessage", str(error)) from None
    collection = request.collection_job_req
    mode = configuration_of(task).batch_mode
    if request.batch_selector.batch_mode is not mode or collection.query.batch_mode is not mode:
        raise dap_problem("invalidMessage", f"The task's batch mode is {mode.name.lower()}.")
    if collection.agg_param:
        # The only one that any report was verified with.
        raise dap_problem("invalidMessage", "The aggregation parameter must be empty.")
    if collection.extensions:
        types = [extension.extension_type for extension in collection.extensions]
        detail = "No extension of collection jobs is known."
        raise dap_problem("unsupportedExtension", detail, unsupported_extensions=types)
    if not request.batch_selector.is_consistent_with(collection.query):
        raise dap_problem("batchInvalid", "The batch selector is not within the collector's query.")
    return request


@transaction.atomic
def _release(task: Task, identity: Identity, request: AggregateShareReq, verifier: Verifier) -> bytes:
    task = task_lock(task=task)
    # The previous holder of the lock may have answered the same request.
    stored = answer_stored(ReleasedShare, task=task, identity=identity)
    if stored is not None:
        return stored
    configuration = configuration_of(task)
    try:
        collected = batch_collect(task=task, selector=request.batch_selector, verifier=verifier)
    except BatchInvalidError as error:
        raise dap_problem("batchInvalid", str(error)) from None
    except BatchOverlapError as error:
        raise dap_problem("batchOverlap", str(error)) from None
    _require_releasable(configuration, request, collected)
    collector = HpkeConfig.decode(bytes(task.collector_config))
    associated = AggregateShareAad(bytes(task.task_id), configuration, request.collection_job_req)
    sealed = seal_aggregate_share(
        collector, Role.HELPER, associated, collected.aggregate_share, secrets.SystemRandom()
    )
    answer = AggregateShare(sealed).encode()
    ReleasedShare.objects.create(
        task=task, resource_id=identity.resource_id, digest=identity.digest, answer=answer
    )
    entry_append(
        action=SHARE_RELEASED,
        subject=bytes(task.task_id).hex(),
        actor=None,
        # Not how many: that would reveal whether single reports were valid.
        details={"min_batch_size": configuration.min_batch_size},
    )
    return answer


def _require_releasable(
    configuration: TaskConfiguration, request: AggregateShareReq, collected: Collected
) -> None:
    """Raises Problem, which undoes the collection."""
    if collected.report_count < configuration.min_batch_size:
        # The leader shows and logs these words: below the cohort size, no number.
        detail = "The helper has fewer reports in this batch than the task needs."
        raise dap_problem("invalidBatchSize", detail)
    if (request.report_count, request.checksum) != (collected.report_count, collected.checksum):
        # Shown and logged, too: no number. No checksum: if one side has one report more, the two would reveal
        # which.
        detail = "Leader and helper did not count the same reports."
        raise dap_problem("batchMismatch", detail)

"""Batch buckets: which one a report belongs to, what is added to them, and how a batch of them is
collected once (DAP 18, sections 4.4.3 and 5).
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import xor

from django.db import transaction
from django.db.models import QuerySet

from dap.errors import BatchCollectedError, BatchInvalidError, BatchOverlapError, TaskEndedError
from dap.models import BatchBucket, CollectedInterval, Task
from dap.operations import configuration_of, task_hold_alive, task_lock
from panprivacy.protocols.dap.basics import CHECKSUM_BYTES, BatchMode, Interval
from panprivacy.protocols.dap.collection import BatchSelector
from panprivacy.protocols.dap.task import TaskConfiguration
from panprivacy.protocols.prio3.interface import Verifier

LAST_TIME = 2**63 - 1
"""The latest time that the database holds; any report that late is too early."""


@dataclass(frozen=True)
class CommittedShare:
    """One output share on its way into a bucket.

    Attributes:
        report_id: 16 bytes, claimed before.
        time: the report's, in units of the time precision.
        out_share: encoded.
    """

    report_id: bytes
    time: int
    out_share: bytes


@dataclass(frozen=True)
class Collected:
    """One side of a batch.

    Attributes:
        aggregate_share: encoded.
        report_count: reports in it.
        checksum: 32 bytes, the XOR of the SHA-256 of every report identifier.
        interval: the smallest that holds the times of all reports; empty without any.
    """

    aggregate_share: bytes
    report_count: int
    checksum: bytes
    interval: Interval


def bucket_identifier(configuration: TaskConfiguration, time: int, batch_id: bytes | None) -> bytes:
    """The bucket of a report.

    Args:
        time: the report's, in units of the time precision.
        batch_id: 32 bytes from the aggregation job; None in mode time_interval.
    """
    if configuration.batch_mode is BatchMode.LEADER_SELECTED:
        if batch_id is None:
            raise ValueError("a report of a leader-selected batch needs the batch's identifier")
        return batch_id
    return Interval(time, 1).encode()


def is_collected(task: Task, identifier: bytes) -> bool:
    """Whether the bucket was collected, or lies in an interval that was, be it empty or not."""
    if len(identifier) == len(Interval(0, 1).encode()):
        time = Interval.decode(identifier).start
        return CollectedInterval.objects.filter(task=task, start__lte=time, end__gt=time).exists()
    return BatchBucket.objects.filter(task=task, identifier=identifier, collected=True).exists()


def buckets_of(task: Task, selector: BatchSelector) -> QuerySet[BatchBucket]:
    """The existing buckets of a batch, in the order in which they are locked.

    Raises:
        BatchInvalidError: the interval is empty or beyond all times.
    """
    buckets = BatchBucket.objects.filter(task=task).order_by("identifier")
    if selector.batch_mode is BatchMode.LEADER_SELECTED:
        return buckets.filter(identifier=selector.config)
    interval = selector.interval
    if interval.duration < 1 or interval.end > LAST_TIME:
        raise BatchInvalidError(
            f"a batch interval has a duration of at least 1 and ends at {LAST_TIME} or before"
        )
    # Identifiers begin with the time in big-endian order: the bytes sort as the times do.
    first, after = Interval(interval.start, 0).encode(), Interval(interval.end, 0).encode()
    return buckets.filter(identifier__gte=first, identifier__lt=after)


@transaction.atomic
def bucket_add(
    *, task: Task, identifier: bytes, shares: Sequence[CommittedShare], verifier: Verifier
) -> None:
    """Add output shares to a bucket. If one transaction adds to several, call it in ascending order of their
    identifiers.

    Args:
        identifier: from `bucket_identifier`.
        shares: of reports that were claimed in the same transaction.

    Raises:
        BatchCollectedError: nothing was added; the bucket was collected, or lies in a collected interval.
        TaskEndedError: nothing was added.
        InvalidShareError: an output share does not decode.
    """
    if not shares:
        return
    task_hold_alive(task=task)
    if is_collected(task, identifier):
        raise BatchCollectedError("the batch was collected")
    empty = BatchBucket(
        task=task,
        identifier=identifier,
        aggregate_share=verifier.aggregate(()),
        checksum=bytes(CHECKSUM_BYTES),
    )
    BatchBucket.objects.bulk_create([empty], ignore_conflicts=True)
    bucket = BatchBucket.objects.select_for_update().get(task=task, identifier=identifier)
    times = [share.time for share in shares]
    bucket.aggregate_share = verifier.aggregate(
        [bytes(bucket.aggregate_share), *(share.out_share for share in shares)]
    )
    bucket.report_count += len(shares)
    bucket.checksum = checksum_of((share.report_id for share in shares), start=bytes(bucket.checksum))
    bucket.first_time = min(times if bucket.first_time is None else [bucket.first_time, *times])
    bucket.last_time = max(times if bucket.last_time is None else [bucket.last_time, *times])
    bucket.save()


@transaction.atomic
def batch_collect(*, task: Task, selector: BatchSelector, verifier: Verifier) -> Collected:
    """Close a batch for good and sum it up. In the caller's transaction, a later refusal undoes it.

    In mode time_interval the whole interval is closed, with the gaps between its buckets.

    Raises:
        BatchInvalidError: no such batch: an unknown batch identifier, an impossible interval, or a
            selector of another batch mode.
        BatchOverlapError: a part of it was collected before.
        TaskEndedError: its shares are gone.
    """
    task = task_lock(task=task)
    if task.state == Task.State.ENDED:
        raise TaskEndedError(task.outcome)
    if selector.batch_mode is not configuration_of(task).batch_mode:
        raise BatchInvalidError("the selector is of another batch mode")
    buckets = list(buckets_of(task, selector).select_for_update())
    if selector.batch_mode is BatchMode.TIME_INTERVAL:
        start, end = selector.interval.start, selector.interval.end
        if CollectedInterval.objects.filter(task=task, start__lt=end, end__gt=start).exists():
            raise BatchOverlapError("a part of this interval was collected before")
        CollectedInterval.objects.create(task=task, start=start, end=end)
    elif not buckets:
        raise BatchInvalidError("no report of this batch is known")
    if any(bucket.collected for bucket in buckets):
        raise BatchOverlapError("this batch was collected before")
    BatchBucket.objects.filter(pk__in=[bucket.pk for bucket in buckets]).update(collected=True)
    return _sum(buckets, verifier)


def checksum_of(report_ids: Iterable[bytes], *, start: bytes = bytes(CHECKSUM_BYTES)) -> bytes:
    """`start` XOR the SHA-256 of every report identifier; 32 bytes."""
    return _xor([start, *(hashlib.sha256(report_id).digest() for report_id in report_ids)])


def _sum(buckets: Sequence[BatchBucket], verifier: Verifier) -> Collected:
    firsts = [bucket.first_time for bucket in buckets if bucket.first_time is not None]
    lasts = [bucket.last_time for bucket in buckets if bucket.last_time is not None]
    return Collected(
        aggregate_share=verifier.aggregate(bytes(bucket.aggregate_share) for bucket in buckets),
        report_count=sum(bucket.report_count for bucket in buckets),
        checksum=_xor(bytes(bucket.checksum) for bucket in buckets),
        interval=Interval(min(firsts), max(lasts) - min(firsts) + 1) if firsts else Interval(0, 0),
    )


def _xor(checksums: Iterable[bytes]) -> bytes:
    numbers = (int.from_bytes(checksum, "big") for checksum in checksums)
    return reduce(xor, numbers, 0).to_bytes(CHECKSUM_BYTES, "big")

"""Reads of the leader's side of a task."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Max, Min, Q, QuerySet, Sum

from dap.leader.models import (
    AggregationJob,
    CollectionJob,
    Collector,
    CountNoise,
    EndNotice,
    Exchange,
    HelperCount,
    Uploads,
)
from dap.models import BatchBucket, Task
from dap.operations import configuration_of
from dap.selectors import report_count
from panprivacy.protocols.dap.basics import Interval
from storage.columns import total


def uploads_waiting(*, task: Task, now: datetime) -> QuerySet[Uploads]:
    """Uploads that no job takes in yet and that may be planned now."""
    return Uploads.objects.filter(Q(not_before=None) | Q(not_before__lte=now), task=task, job=None)


def smallest_batch(*, task: Task) -> int:
    """Fewest reports with which a batch of the task is collected: `min_batch_size`, and the margin if one was
    drawn. The helper is not asked below it, so that neither server shows whether it was a little more."""
    margin = CountNoise.objects.filter(task=task).values_list("margin", flat=True).first() or 0
    return configuration_of(task).min_batch_size + margin


def reports_possible(*, task: Task) -> int:
    """The most reports that the uncollected batches of a task can come to with what has arrived."""
    counted = total(BatchBucket.objects.filter(task=task, collected=False), "report_count")
    return counted + total(Uploads.objects.filter(task=task), "count")


@dataclass(frozen=True)
class LeaderProgress:
    """The state of a task's reports on the leader's side.

    Attributes:
        waiting: uploaded, in no job yet.
        in_jobs: being verified with the helper.
        counted: in sums, verified by both sides.
        failing_since: since when the helper cannot be reached, answers nothing that makes sense, or promises
            an answer that does not come; None if nothing is wrong.
        next_attempt: when the request that fails for longest is sent again; None if nothing is wrong.
        last_error: what happened at the last attempt, in words; empty if nothing is wrong.
    """

    waiting: int
    in_jobs: int
    counted: int
    failing_since: datetime | None
    next_attempt: datetime | None
    last_error: str


def progress_of(*, task: Task) -> LeaderProgress:
    """The exact progress; public pages show it in coarse steps only.

    What is verified meanwhile is in neither number, rather than in both: the sums are read first.
    """
    counted = report_count(task)
    stored = Uploads.objects.filter(task=task).aggregate(
        waiting=Sum("count", filter=Q(job=None)), in_jobs=Sum("count", filter=~Q(job=None))
    )
    failing = _longest_failing(task)
    return LeaderProgress(
        waiting=stored["waiting"] or 0,
        in_jobs=stored["in_jobs"] or 0,
        counted=counted,
        failing_since=failing.failing_since if failing else None,
        next_attempt=failing.send_after if failing else None,
        last_error=failing.last_error if failing else "",
    )


def published_count(*, task: Task, counted: int) -> int:
    """The number of reports that is published of `counted` ones. Its noise was drawn when the task closed."""
    return max(1, counted + CountNoise.objects.get(task=task).noise)


def helper_count(*, task: Task) -> HelperCount | None:
    """The helper's own number of reports in the sum; None if it has not reported one."""
    return HelperCount.objects.filter(task=task).first()


def exchanges() -> list[QuerySet[Any]]:
    """The requests of all tasks that wait for the helper, by kind."""
    asking = CollectionJob.objects.filter(state=CollectionJob.State.ASKING)
    return [AggregationJob.objects.all(), asking, EndNotice.objects.all()]


def exchanges_waiting(*, task: Task) -> int:
    """How many requests of a task wait for the helper."""
    return sum(rows.filter(task=task).count() for rows in exchanges())


def _longest_failing(task: Task) -> Exchange | None:
    failing = [
        model.objects.filter(task=task).exclude(failing_since=None).order_by("failing_since").first()
        for model in (AggregationJob, CollectionJob, EndNotice)
    ]
    since = {row.failing_since: row for row in failing if row is not None and row.failing_since is not None}
    return since[min(since)] if since else None


def is_collected_by_itself(*, task: Task) -> bool:
    """Whether the task is collected once, by this process, when it takes no more reports."""
    return Collector.objects.filter(task=task, collects_on_close=True).exists()


def is_refused(*, task: Task) -> bool:
    """Whether the one collection of a task that is collected by itself was refused: there is no other. It
    takes no more reports by then; of a task that is open, nothing is refused for good."""
    failed = CollectionJob.objects.filter(task=task, state=CollectionJob.State.FAILED)
    return task.state == Task.State.CLOSED and is_collected_by_itself(task=task) and failed.exists()


def times_uncollected(*, task: Task) -> Interval | None:
    """The smallest interval that holds the times of all reports which are in no result yet; None if there are
    none."""
    counted = BatchBucket.objects.filter(task=task, collected=False)
    stored = Uploads.objects.filter(task=task)
    spans = [
        (span["first"], span["last"])
        for span in (
            rows.aggregate(first=Min("first_time"), last=Max("last_time")) for rows in (counted, stored)
        )
        if span["first"] is not None
    ]
    if not spans:
        return None
    first, last = min(first for first, _ in spans), max(last for _, last in spans)
    return Interval(first, last - first + 1)

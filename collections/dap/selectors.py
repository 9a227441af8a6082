"""Reading what is known of a task."""

from collections import defaultdict
from collections.abc import Iterable

from django.db.models import Sum

from dap.models import BatchBucket, CollectedInterval, ReportRejection, Side, Task
from storage.columns import total


def report_count(task: Task) -> int:
    """Reports that were verified and added to a bucket, collected or not."""
    return total(BatchBucket.objects.filter(task=task), "report_count")


def is_any_collected(task: Task) -> bool:
    """Whether a batch of the task was collected."""
    return (
        CollectedInterval.objects.filter(task=task).exists()
        or BatchBucket.objects.filter(task=task, collected=True).exists()
    )


def rejections_of(task: Task, side: Side) -> dict[str, int]:
    """Reports that `side` rejected, by reason. Not public: see `panprivacy.protocols.dap.basics.ReportError`
    and docs/threat-model.md on what a count of failed verifications can betray."""
    rows = ReportRejection.objects.filter(task=task, side=side).order_by("reason")
    return dict(rows.values_list("reason", "count"))


def counts_of(tasks: Iterable[Task]) -> dict[int, int]:
    """`report_count` of several tasks with reports, by primary key, in one query."""
    buckets = BatchBucket.objects.filter(task__in=tasks).order_by("task_id").values("task_id")
    return dict(buckets.annotate(total=Sum("report_count")).values_list("task_id", "total"))


def collected_among(tasks: Iterable[Task]) -> set[int]:
    """Primary keys of the tasks with a collected batch, in two queries."""
    chosen = list(tasks)
    intervals = CollectedInterval.objects.filter(task__in=chosen)
    buckets = BatchBucket.objects.filter(task__in=chosen, collected=True)
    return {*intervals.values_list("task_id", flat=True), *buckets.values_list("task_id", flat=True)}


def rejections_among(tasks: Iterable[Task], side: Side) -> dict[int, dict[str, int]]:
    """`rejections_of` several tasks with rejections, by primary key, in one query."""
    found: dict[int, dict[str, int]] = defaultdict(dict)
    rows = ReportRejection.objects.filter(task__in=tasks, side=side).order_by("reason")
    for task, reason, count in rows.values_list("task_id", "reason", "count"):
        found[task][reason] = count
    return dict(found)


def times_collected(*, task: Task, times: Iterable[int]) -> set[int]:
    """Those of `times` that lie in an interval that was collected."""
    wanted = set(times)
    if not wanted:
        return set()
    intervals = CollectedInterval.objects.filter(task=task, start__lte=max(wanted), end__gt=min(wanted))
    spans = list(intervals.values_list("start", "end"))
    return {time for time in wanted if any(start <= time < end for start, end in spans)}

"""Two servers: leader and helper verify and add up shares, and the leader collects both sums."""

from django.utils import timezone

from dap.models import AggregatedReport, Side, Task
from dap.operations import task_named
from dap.selectors import rejections_of, report_count
from leader.operations import task_end
from leader.results import Refusal, task_result
from leader.selectors import LeaderProgress, exchanges_waiting, helper_count, progress_of
from panprivacy.dap.basics import ReportError
from panprivacy.trust import Trust
from panprivacy.trust_models.two_server import TwoServers
from recipes.models import Recipe
from releases.sums.interface import (
    Outcome,
    Refused,
    ServerStanding,
    Standing,
    Sum,
    SumSource,
    TooFew,
    Trouble,
)

PUBLIC_REASONS = frozenset(
    error.reason
    for error in (
        ReportError.REPORT_REPLAYED,
        ReportError.REPORT_DROPPED,
        ReportError.BATCH_COLLECTED,
        ReportError.TASK_EXPIRED,
        ReportError.TASK_NOT_STARTED,
        ReportError.OUTDATED_CONFIG,
    )
)
"""Reasons that the leader finds when a report arrives. Only these are public, and only the leader's.

What the helper rejects has passed the leader's half of verification: even how often it finds a report
replayed would tell whether what was sent with it was valid.
"""


class TwoServerSums(SumSource):
    """A recipe is one task; the leader's periodic work moves it on by itself."""

    trust = Trust.TWO_SERVER
    waits_for_another = True

    def advance(self, recipe: Recipe) -> None:
        """Nothing: tasks are moved on as tasks, whether a recipe stands behind them or not."""

    def is_over(self, recipe: Recipe) -> bool:
        """The helper may have ended the task."""
        return _task(recipe).state != Task.State.OPEN

    def is_settled(self, recipe: Recipe) -> bool:
        return task_result(_task(recipe)) is not None

    def outcome(self, recipe: Recipe) -> Outcome | None:
        task = _task(recipe)
        result = task_result(task)
        if result is None:
            return None
        if isinstance(result, Refusal):
            return TooFew(_received(task, recipe)) if result.is_too_few else Refused(_clause(result.detail))
        return Sum(result.values, result.report_count)

    def forget(self, recipe: Recipe, outcome: str) -> None:
        task_end(task=_task(recipe), reason=outcome, now=timezone.now())

    def standing(self, recipe: Recipe) -> Standing:
        task = _task(recipe)
        servers = recipe.published.servers
        if not isinstance(servers, TwoServers):
            raise TypeError("a recipe of two servers names two")
        progress = progress_of(task=task)
        ours, theirs = (rejections_of(task, side) for side in (Side.LEADER, Side.HELPER))
        leader = ServerStanding(
            name="Leader",
            url=servers.leader_url,
            counted=report_count(task),
            public_rejections={r: n for r, n in ours.items() if r in PUBLIC_REASONS},
            hidden_rejections={r: n for r, n in ours.items() if r not in PUBLIC_REASONS},
        )
        helper = ServerStanding(
            name="Helper",
            url=servers.helper_url,
            counted=helper_count(task=task),
            hidden_rejections=theirs,
            trouble=_trouble(task, progress),
        )
        return Standing(_received(task, recipe), progress.waiting + progress.in_jobs, (leader, helper))


def _clause(sentence: str) -> str:
    """It is shown after a colon, and before a full stop."""
    return sentence[:1].lower() + sentence[1:].removesuffix(".")


def _task(recipe: Recipe) -> Task:
    task = task_named(task_id=bytes.fromhex(str(recipe.identifier)), side=Side.LEADER)
    if task is None:
        raise LookupError(f"there is no task for the recipe {recipe.identifier}")
    return task


def _received(task: Task, recipe: Recipe) -> int:
    """Identifiers that were used up on arrival, up to the cohort size: nothing that verifying them says
    changes that number."""
    return AggregatedReport.objects.filter(task=task)[: recipe.cohort_size].count()


def _trouble(task: Task, progress: LeaderProgress) -> Trouble | None:
    if progress.failing_since is None or progress.next_attempt is None:
        return None
    return Trouble(
        since=progress.failing_since,
        waiting=exchanges_waiting(task=task),
        next_attempt=progress.next_attempt,
        error=progress.last_error,
    )

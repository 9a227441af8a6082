"""A leader, which is this site, and a helper: both verify and add up shares; the leader collects the sums."""

from dap.admission import TokenError
from dap.leader.models import CountNoise, EndNotice
from dap.leader.operations import task_end
from dap.leader.results import Refusal, task_result
from dap.leader.selectors import (
    LeaderProgress,
    exchanges_waiting,
    helper_count,
    progress_of,
    published_count,
)
from dap.models import AggregatedReport, Side, Task
from dap.operations import task_named
from dap.selectors import rejections_of
from panprivacy.accounting.trust import Trust
from panprivacy.protocols.dap.basics import ReportError
from panprivacy.statistics.trust_models.two_server import TwoServers
from recipes.models import Recipe
from results.outcomes import (
    Outcome,
    Progress,
    Refused,
    ServerProgress,
    Sum,
    TooFew,
    Trouble,
)
from results.trust_models.interface import CollectionModel
from storage import clock
from storage.columns import optional_bytes

PUBLIC_REASONS = frozenset(
    error.reason
    for error in (
        *TokenError,
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
replayed would reveal whether what was sent with it was valid.
"""

MOST_COUNTED = 1_000_000
"""An open recipe's reports are counted up to this number, or up to the cohort size: pages ask often."""


class TwoServerCollection(CollectionModel):
    """A recipe is one task; the leader's periodic work moves every task on."""

    trust = Trust.TWO_SERVER
    cohort_of = "valid reports"

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
        return Sum(result.values, published_count(task=task, counted=result.report_count))

    def forget(self, recipe: Recipe, outcome: str) -> None:
        task_end(task=_task(recipe), reason=outcome, now=clock.database_now())

    def progress(self, recipe: Recipe) -> Progress:
        task = _task(recipe)
        servers = recipe.published.servers
        if not isinstance(servers, TwoServers):
            raise TypeError("a recipe of two servers names two")
        progress = progress_of(task=task)
        noise = CountNoise.objects.filter(task=task).values_list("noise", flat=True).first() or 0
        ours, theirs = (rejections_of(task, side) for side in (Side.LEADER, Side.HELPER))
        leader = ServerProgress(
            name="Leader",
            url=servers.leader_url,
            counted=max(0, progress.counted + noise),
            public_rejections={r: n for r, n in ours.items() if r in PUBLIC_REASONS},
            hidden_rejections={r: n for r, n in ours.items() if r not in PUBLIC_REASONS},
        )
        count = helper_count(task=task)
        helper = ServerProgress(
            name="Helper",
            url=servers.helper_url,
            counted=None if count is None else max(0, count.report_count + noise),
            hidden_rejections=theirs,
            trouble=_trouble(task, progress),
            verification_key=servers.helper_verification_key,
            count_signature=None if count is None else optional_bytes(count.signature),
        )
        return Progress(_received(task, recipe), progress.waiting + progress.in_jobs, (leader, helper))

    def partner_must_hear(self, recipe: Recipe) -> bool:
        return EndNotice.objects.filter(task__task_id=bytes.fromhex(str(recipe.identifier))).exists()


def _clause(sentence: str) -> str:
    """It is shown after a colon, and before a full stop."""
    return sentence[:1].lower() + sentence[1:].removesuffix(".")


def _task(recipe: Recipe) -> Task:
    task = task_named(task_id=bytes.fromhex(str(recipe.identifier)), side=Side.LEADER)
    if task is None:
        raise LookupError(f"there is no task for the recipe {recipe.identifier}")
    return task


def _received(task: Task, recipe: Recipe) -> int:
    """Identifiers that were used up on arrival, up to `MOST_COUNTED`: the outcome of verification does not
    change that number."""
    most = max(recipe.cohort_size, MOST_COUNTED)
    return AggregatedReport.objects.filter(task=task)[:most].count()


def _trouble(task: Task, progress: LeaderProgress) -> Trouble | None:
    if progress.failing_since is None or progress.next_attempt is None:
        return None
    return Trouble(
        since=progress.failing_since,
        waiting=exchanges_waiting(task=task),
        next_attempt=progress.next_attempt,
        error=progress.last_error,
    )

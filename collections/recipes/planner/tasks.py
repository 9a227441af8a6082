"""What of plans and guarantees takes too long for a request."""

from contextlib import suppress
from typing import Any

from billiard.exceptions import SoftTimeLimitExceeded
from celery import shared_task

from panprivacy.planning.plan import Question
from panprivacy.recipe.draft import RecipeDraft
from panprivacy.recipe.rounds.draft import RoundsDraft
from recipes.planner import guarantees
from recipes.planner.guarantees import guarantees_compute
from recipes.planner.operations import TASK_SECONDS, plan_compute, plan_give_up

OVERTIME_SECONDS = 20.0
"""What a computation that cannot be interrupted may take beyond the task's time."""


# Not sent again when a worker dies: who still wants the plan asks again.
@shared_task(acks_late=False, soft_time_limit=int(TASK_SECONDS + OVERTIME_SECONDS))
def compute_plan(question: dict[str, Any], slot: int) -> None:
    """Compute a plan and keep it in the cache; safe to run twice."""
    asked = Question.from_mapping(question)
    try:
        plan_compute(question=asked, slot=slot)
    except SoftTimeLimitExceeded:
        plan_give_up(question=asked)


@shared_task(acks_late=False, soft_time_limit=int(guarantees.TASK_SECONDS + OVERTIME_SECONDS))
def compute_guarantees(asked: dict[str, Any], slot: int) -> None:
    """Compute what a recipe, or one in rounds, guarantees, and keep it in the cache; safe to run twice."""
    kind = RoundsDraft if "round_seconds" in asked else RecipeDraft
    with suppress(SoftTimeLimitExceeded):  # it was given up, which is noted
        guarantees_compute(asked=kind.from_mapping(asked), slot=slot)

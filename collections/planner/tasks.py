"""What of a plan takes too long for a request."""

from typing import Any

from celery import shared_task

from panprivacy.planning.plan import Question
from planner.operations import plan_compute


# Not sent again when a worker dies: whoever still wants the plan asks again.
@shared_task(acks_late=False)
def compute_plan(question: dict[str, Any], slot: int) -> None:
    """Compute a plan and keep it in the cache; safe to run twice."""
    plan_compute(question=Question.from_mapping(question), slot=slot)

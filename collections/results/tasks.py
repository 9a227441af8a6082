"""Tasks carry identifiers only; each is safe to run at any time, even twice."""

from celery import shared_task

from results.aggregation.step_tasks import steps_send
from results.steps import collection_step
from storage.periodic import PeriodicTask

STEP_SECONDS = 240
"""For one step of a recipe; below the time limit of every task, so that its failure is noted."""


@shared_task(base=PeriodicTask)
def advance_collections() -> None:
    """Send a task for each recipe that has something to do."""
    steps_send()


@shared_task(soft_time_limit=STEP_SECONDS)
def advance_collection(identifier: str, claim: str | None = None) -> None:
    """Bring one recipe a step on."""
    collection_step(identifier=identifier, claim=claim)

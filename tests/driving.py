"""Driving collections in a test's own process, as beat and workers do."""

from recipes.models import NextStep
from recipes.steps import steps_claim
from results.tasks import advance_collection
from storage import clock


def collections_advance() -> None:
    """Poll once, and take the steps that are due."""
    for identifier, claim in steps_claim().items():
        advance_collection(identifier=identifier, claim=claim)


def rests_end() -> None:
    """Let every rest and pause pass: each unfinished recipe takes its next step at the next poll."""
    NextStep.objects.update(due_at=clock.database_now())

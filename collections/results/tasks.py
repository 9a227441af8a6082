"""The periodic task that drives every collection."""

from celery import shared_task

from results.operations import collections_advance
from storage.periodic import PeriodicTask


@shared_task(base=PeriodicTask)
def advance_collections() -> None:
    """Bring every unfinished recipe one step on; safe to run at any time, even twice."""
    collections_advance()

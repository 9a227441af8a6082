"""The periodic task that asks the rounds of series."""

from celery import shared_task

from series.operations import rounds_advance
from storage.periodic import PeriodicTask


@shared_task(base=PeriodicTask)
def advance_series() -> None:
    """Publish every round that is due; safe to run at any time, even twice."""
    rounds_advance()

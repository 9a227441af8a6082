"""Tasks carry no secrets, and are safe to run at any time, even twice."""

from celery import shared_task

from storage import clock
from storage.periodic import PeriodicTask
from tokens.admission.operations import issuances_drive, issuances_take


@shared_task(base=PeriodicTask)
def tell_issuers() -> None:
    """Notify issuers of the recipes that have ended."""
    taken = issuances_take(now=clock.database_now())
    if taken:
        issuances_drive(taken=taken, now=clock.settled_now())

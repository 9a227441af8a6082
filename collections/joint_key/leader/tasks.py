"""Tasks carry identifiers only; each is safe to run at any time, even twice."""

from celery import shared_task

from joint_key.leader.models import JointSum
from joint_key.leader.sums import helper_of, sum_drive, sums_take
from storage import clock
from storage.periodic import PeriodicTask


@shared_task(base=PeriodicTask)
def advance_sums() -> None:
    """Send what is due to the workers: questions to helpers, and keys that they are to delete."""
    taken = sums_take(now=clock.database_now())
    for row in taken.rows:
        drive_sum.delay(row, taken.until.isoformat())


@shared_task
def drive_sum(key: int, until: str) -> None:
    """Bring the sum of one recipe one step on.

    Args:
        until: the end of the lease for which it was sent; a message that came late has an older one.
    """
    row = JointSum.objects.select_related("recipe").filter(pk=key).first()
    if row is not None and row.send_after.isoformat() == until:
        sum_drive(row=row, helper=helper_of(row.recipe), now=clock.settled_now())

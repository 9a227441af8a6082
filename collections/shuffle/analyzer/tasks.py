"""Tasks carry identifiers only; each is safe to run at any time, even twice."""

from celery import shared_task

from shuffle.analyzer.batches import fetch_drive, fetches_take
from shuffle.analyzer.models import BatchFetch
from shuffle.analyzer.peers import shuffler_of
from storage import clock
from storage.periodic import PeriodicTask


@shared_task(base=PeriodicTask)
def advance_fetches() -> None:
    """Send what is due to the workers: questions to shufflers, and what they are to delete."""
    taken = fetches_take(now=clock.database_now())
    for fetch in taken.rows:
        drive_fetch.delay(fetch, taken.until.isoformat())


@shared_task
def drive_fetch(fetch: int, until: str | None = None) -> None:
    """Bring the batch of one recipe one step on.

    Args:
        until: the end of the lease for which it was sent. Those that no worker took up in time were sent
            anew, and the old ones would only pile up before a shuffler that does not answer. Whether there is
            a newer one the row knows, and no clock.
    """
    row = BatchFetch.objects.select_related("recipe").filter(pk=fetch).first()
    if row is not None and (until is None or row.send_after.isoformat() == until):
        fetch_drive(fetch=row, shuffler=shuffler_of(row.recipe), now=clock.settled_now())

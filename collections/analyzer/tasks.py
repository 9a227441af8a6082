"""Tasks carry identifiers only; each is safe to run at any time, twice."""

from celery import shared_task
from django.utils import timezone

from analyzer.fetching import LEASE, fetch_drive, fetches_take
from analyzer.models import BatchFetch
from analyzer.peers import shuffler_of

# The names are those that installations have queued and scheduled.


@shared_task(name="analyzer.tasks.advance_intakes")
def advance_fetches() -> None:
    """Send what is due to the workers: questions to shufflers, and what they are to delete."""
    for fetch in fetches_take(now=timezone.now()):
        drive_fetch.delay(fetch)


# Those that nobody took up within the lease are sent anew.
@shared_task(name="analyzer.tasks.drive_intake", expires=LEASE.total_seconds())
def drive_fetch(fetch: int) -> None:
    """Bring the batch of one recipe one step on."""
    row = BatchFetch.objects.select_related("recipe").filter(pk=fetch).first()
    if row is not None:
        fetch_drive(fetch=row, shuffler=shuffler_of(row.recipe), now=timezone.now())

"""The tasks that keep the ledger's numbers computed."""

from celery import shared_task

from ledger.remembering import books_behind, books_compute
from storage.periodic import PeriodicTask


@shared_task(base=PeriodicTask)
def advance_books() -> None:
    """Have the numbers computed of books that have changed; safe to run at any time, even twice."""
    if books_behind():
        compute_books.send()


# Not sent again when a worker dies: the next run finds what is missing.
@shared_task(acks_late=False, base=PeriodicTask)
def compute_books() -> None:
    """Compute for a while; safe to run twice."""
    books_compute()

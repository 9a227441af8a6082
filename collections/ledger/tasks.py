"""The tasks that keep the ledger's numbers computed."""

from celery import shared_task

from ledger.remembering import books_claim, books_compute


@shared_task
def advance_books() -> None:
    """Have the numbers computed of books that have changed; safe to run at any time, twice."""
    if books_claim():
        compute_books.delay()


# Not sent again when a worker dies: the next tick finds what is missing.
@shared_task(acks_late=False)
def compute_books() -> None:
    """Compute for a while; safe to run twice."""
    books_compute()

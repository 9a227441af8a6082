"""The periodic task that drives every collection."""

from celery import shared_task
from django.utils import timezone

from recipes.registrations import registrations_left
from recipes.tasks import release_registrations
from releases.operations import collections_advance


@shared_task
def advance_collections() -> None:
    """Bring every unfinished recipe one step on; safe to run at any time, twice."""
    collections_advance()
    if registrations_left(now=timezone.now()):
        # Elsewhere: it waits for the helper, and this must not.
        release_registrations.delay()

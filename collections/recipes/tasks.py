"""Tasks carry identifiers only."""

from celery import shared_task
from django.utils import timezone

from recipes.partner import configured_partner
from recipes.registrations import registrations_release


@shared_task
def release_registrations() -> None:
    """Tell the helper what was begun and not published; safe to run any number of times."""
    partner = configured_partner()
    if partner is not None:
        registrations_release(partner=partner, now=timezone.now())

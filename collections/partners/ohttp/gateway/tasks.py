"""The periodic task of sites; a helper has no workers, and its upkeep does the same."""

from celery import shared_task

from partners.ohttp.gateway.keys import GATEWAY_KEYS
from storage import clock
from storage.periodic import PeriodicTask


@shared_task(base=PeriodicTask)
def expire_keys() -> None:
    """Delete retired keys whose grace period is over; safe to run at any time, even twice."""
    GATEWAY_KEYS.expire(now=clock.settled_now())

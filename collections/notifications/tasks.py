"""Tasks carry identifiers only."""

import structlog
from celery import shared_task

from notifications.delivering import deliveries_forget, deliveries_take, delivery_send
from notifications.outbox import budgets_watch, cohorts_watch, log_read
from storage.periodic import PeriodicTask

logger = structlog.get_logger(__name__)


@shared_task(base=PeriodicTask)
def advance_notifications() -> None:
    """Store what the log tells, and send the tasks of what is due; safe to run at any time, twice."""
    log_read()
    for delivery in deliveries_take():
        deliver.delay(delivery)


@shared_task(base=PeriodicTask)
def watch_collections() -> None:
    """Look for what no entry of the log tells, and forget old deliveries; safe to run at any time, twice."""
    for look in (cohorts_watch, budgets_watch, deliveries_forget):
        try:
            look()
        except Exception:
            # One must not hold up the others.
            logger.exception("not_watched", what=look.__name__)


@shared_task
def deliver(delivery: int) -> None:
    """One attempt to deliver; safe to run any number of times, as receivers know the message again."""
    delivery_send(delivery=delivery)

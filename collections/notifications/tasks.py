"""Tasks carry identifiers only."""

import structlog
from celery import shared_task

from notifications.delivery import deliveries_forget, deliveries_take, delivery_send
from notifications.outbox import budgets_watch, cohorts_watch, log_read, rules_check
from storage.periodic import PeriodicTask

logger = structlog.get_logger(__name__)


@shared_task(base=PeriodicTask)
def advance_notifications() -> None:
    """Store the events of the log, compare results with rules, and send the tasks of what is due; safe to run
    at any time, even twice."""
    log_read()
    rules_check()
    for delivery in deliveries_take():
        deliver.delay(delivery)


@shared_task(base=PeriodicTask)
def watch_collections() -> None:
    """Detect events that no entry of the log reports, and delete old deliveries; safe to run at any time,
    even twice.
    """
    for look in (cohorts_watch, budgets_watch, deliveries_forget):
        try:
            look()
        except Exception:
            # One must not hold up the others.
            logger.exception("not_watched", what=look.__name__)


@shared_task
def deliver(delivery: int) -> None:
    """One attempt to deliver; safe to run any number of times, because receivers recognize a repeated
    message.
    """
    delivery_send(delivery=delivery)

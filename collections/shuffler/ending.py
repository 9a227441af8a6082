"""How batches end: by the analyzer's request, or when their time is over.

The shuffler has no worker and no clock of its own. What is due is done whenever a recipe is registered, and
by `manage.py shuffler_upkeep`, for a daily timer.
"""

from datetime import datetime, timedelta

import structlog
from django.conf import settings
from django.db import transaction

from audit.operations import entry_append
from gateway.keys import GATEWAY_KEYS
from panprivacy.recipe import recipe_of
from panprivacy.times import format_time
from shuffler.actions import BATCH_ENDED
from shuffler.models import Batch, Part, Rejection, Submission, SubmissionNonce
from storage.erasable_keys import old_keys_erase
from storage.erasing import log_truncate_on_commit

logger = structlog.get_logger(__name__)

REASON_LENGTH = 200

SIMULATION_LIFETIME = timedelta(days=1)
"""After which a simulation, which is not bound by its times, is taken for abandoned."""


@transaction.atomic
def batch_end(*, batch: Batch, reason: str, now: datetime) -> None:
    """Delete every message and nonce of a batch; a row that says that it was there stays. Idempotent.

    Args:
        reason: why, in words.
    """
    batch = Batch.objects.select_for_update().get(pk=batch.pk)
    if batch.state != Batch.State.ENDED:
        batch.state, batch.ended_at, batch.outcome = Batch.State.ENDED, now, reason[:REASON_LENGTH]
        if not batch.was_full:
            # An exact number of fewer users than may ever be spoken about.
            batch.users = 0
        batch.messages = None
        batch.save()
        for kind in (Submission, SubmissionNonce, Part, Rejection):
            kind.objects.filter(batch=batch).delete()
        entry_append(
            action=BATCH_ENDED,
            subject=batch.identifier,
            actor=None,
            details={"reason": batch.outcome, "full": batch.was_full},
        )
    log_truncate_on_commit()


def upkeep(*, now: datetime) -> None:
    """End batches that can never be full any more, and full ones that nobody fetched for long; delete keys
    for sealed requests after their grace period.

    Raises:
        KeysNotErasedError: files of keys could not be erased; all else is done.
    """
    GATEWAY_KEYS.expire(now=now)
    for batch in Batch.objects.exclude(state=Batch.State.ENDED).order_by("pk"):
        try:
            is_over = ends_at(batch) <= now
        except ValueError as error:
            # One recipe that another version wrote must not keep the others.
            logger.error("recipe_unreadable", recipe=batch.identifier, error=str(error))
            continue
        if is_over:
            reason = f"The shuffler deleted it {format_time(now)}: its time was over."
            batch_end(batch=batch, reason=reason, now=now)
    log_truncate_on_commit()
    old_keys_erase()


def ends_at(batch: Batch) -> datetime:
    """When the shuffler ends a batch by itself: when it closes without being full, and else so long later."""
    recipe = recipe_of(batch.document)
    closes_at = batch.created_at + SIMULATION_LIFETIME if recipe.simulation else recipe.closes_at
    return closes_at + timedelta(seconds=settings.TASK_RETENTION_SECONDS) if batch.was_full else closes_at

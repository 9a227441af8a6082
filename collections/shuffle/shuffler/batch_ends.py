"""How batches end: by the analyzer's request, or when their time is over.

The shuffler has no worker and no scheduler. What is due is done whenever a recipe is registered, and by
`manage.py shuffler_upkeep`, for a daily timer.
"""

from datetime import datetime

from django.db import transaction

from log.audit.operations import entry_append
from panprivacy.formats.times import format_time
from partners.ohttp.gateway.keys import GATEWAY_KEYS
from partners.recipe_document import overdue
from shuffle.shuffler.actions import BATCH_ENDED
from shuffle.shuffler.models import Batch, Part, Rejection, Submission, SubmissionNonce
from storage.erasable_keys import old_keys_erase
from storage.erasure import log_truncate_on_commit

REASON_LENGTH = 200


@transaction.atomic
def batch_end(*, batch: Batch, reason: str, now: datetime) -> None:
    """Delete every message and nonce of a batch; a row that records its existence stays. Idempotent.

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
    """End batches that can never be full any more, and full ones that were not fetched for long; delete keys
    for sealed requests after their grace period.

    Raises:
        KeysNotErasedError: files of keys could not be erased; everything else is done.
    """
    GATEWAY_KEYS.expire(now=now)
    reason = f"The shuffler deleted it {format_time(now)}: its time was over."
    for batch in overdue(Batch.objects.exclude(state=Batch.State.ENDED).order_by("pk"), now=now):
        batch_end(batch=batch, reason=reason, now=now)
    log_truncate_on_commit()
    old_keys_erase()

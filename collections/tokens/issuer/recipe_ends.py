"""How issuing ends: by the site's request, or when the recipe's time is over.

The issuer has no worker and no scheduler. What is due is done whenever a key is made or a recipe is
registered, and by `manage.py issuer_upkeep`, for a daily timer.
"""

from datetime import datetime

from django.db import transaction

from log.audit.operations import entry_append
from panprivacy.formats.times import format_time
from partners.ohttp.gateway.keys import GATEWAY_KEYS
from partners.recipe_document import overdue
from storage.columns import stored
from storage.erasable_keys import old_keys_erase
from storage.erasure import log_truncate_on_commit
from storage.sealing import secret_erase, secrets_delete
from tokens.issuer.actions import ISSUANCE_ENDED
from tokens.issuer.keys import keys_forget
from tokens.issuer.models import Handle, Issuance
from tokens.issuer.registrations import UNUSED_KEY_LIFETIME

REASON_LENGTH = 200


@transaction.atomic
def issuance_end(*, issuance: Issuance, reason: str, now: datetime) -> int:
    """Erase the keys of a recipe and every handle; how many tokens were issued stays. Idempotent.

    Args:
        reason: why, in words.

    Returns:
        Tokens that were issued and not withheld.
    """
    # Answers take the same lock: none is under way, and none comes after.
    issuance = Issuance.objects.select_for_update().get(pk=issuance.pk)
    if issuance.state != Issuance.State.ENDED:
        issuance.issued = Handle.objects.filter(issuance=issuance, withheld=False).count()
        Handle.objects.filter(issuance=issuance).delete()
        secret_erase(issuance.sealed)
        issuance.sealed, issuance.state = None, Issuance.State.ENDED
        issuance.ended_at, issuance.outcome = now, reason[:REASON_LENGTH]
        issuance.save()
        entry_append(
            action=ISSUANCE_ENDED,
            subject=stored(issuance.identifier),
            actor=None,
            details={"reason": issuance.outcome, "issued": issuance.issued},
        )
    transaction.on_commit(keys_forget, robust=True)
    log_truncate_on_commit()
    return stored(issuance.issued)


def upkeep(*, now: datetime) -> None:
    """Delete what expired: keys that no recipe used, gateway keys after their grace period, keys of recipes
    that have closed, and what an interrupted end left behind.

    Raises:
        KeysNotErasedError: files of keys could not be erased; everything else is done.
    """
    waiting = Issuance.objects.filter(state=Issuance.State.WAITING)
    secrets_delete(waiting.filter(created_at__lte=now - UNUSED_KEY_LIFETIME), "sealed")
    GATEWAY_KEYS.expire(now=now)
    reason = f"The issuer ended it {format_time(now)}: its time was over."
    for issuance in overdue(Issuance.objects.filter(state=Issuance.State.ISSUING).order_by("pk"), now=now):
        issuance_end(issuance=issuance, reason=reason, now=now)
    keys_forget()
    log_truncate_on_commit()
    old_keys_erase()

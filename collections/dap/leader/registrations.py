"""Tasks for which the helper is asked to take part, stored before it is asked.

The transaction that begins a task here forgets its note. A row that stays belongs to a registration that
failed or crashed: the helper is notified that nothing came of it, and deletes its keys.
"""

from datetime import datetime, timedelta

import structlog
from django.db import transaction

from dap.leader.errors import RegistrationOverError
from dap.leader.models import Registration
from dap.leader.peers import registered_partner
from partners.client import PeerRefusedError, PeerUnavailableError
from partners.helper_calls import task_end_at_helper
from partners.partner import Partner
from web.transport import Transport, https_transport

logger = structlog.get_logger(__name__)

LONGEST_BEGINNING = timedelta(minutes=15)
"""Time after which a registration cannot succeed any more; it takes seconds."""

REASON = "it was never begun"


def registration_note(*, task_id: bytes, partner: Partner, now: datetime) -> None:
    """Store that the helper is about to be asked about a task, so that this is known even after a crash.

    Args:
        task_id: 32 bytes, of a task that was never registered.
    """
    Registration.objects.create(
        task_id=task_id,
        helper_url=partner.url,
        helper_key=partner.verification_key,
        leader_url=partner.leader_url,
        created_at=now,
    )


def registration_forget(*, task_id: bytes) -> None:
    """Something came of it; call it in the transaction that begins the task.

    Raises:
        RegistrationOverError: the helper is being notified that the registration failed; the transaction must
            not be committed.
    """
    if Registration.objects.filter(task_id=task_id, abandoned_at=None).delete()[0] != 1:
        raise RegistrationOverError("it took so long that the helper was told it came to nothing")


def registrations_call_off(*, now: datetime, transport: Transport = https_transport) -> None:
    """Notify helpers of every registration that nothing came of, so that they delete the keys.

    Marked first, so that a registration still in progress cannot finish; deleted when the helper has
    acknowledged it. May be run at any time, twice, and die anywhere.
    """
    old = Registration.objects.filter(created_at__lte=now - LONGEST_BEGINNING)
    with transaction.atomic():
        old.filter(abandoned_at=None).update(abandoned_at=now)
    silent: set[str] = set()
    for registration in old.exclude(abandoned_at=None).order_by("pk"):
        if registration.helper_url in silent:
            continue
        partner = registered_partner(registration, transport)
        try:
            task_end_at_helper(partner, task_id=bytes(registration.task_id), reason=REASON)
        except PeerUnavailableError:
            silent.add(registration.helper_url)
            continue
        except PeerRefusedError as error:
            logger.warning("registration_not_called_off", task=str(registration), error=str(error))
        registration.delete()

"""Documents that were registered with the helper and never published."""

from datetime import datetime, timedelta

import structlog
from django.db import transaction

from dap.client import PeerRefusedError, PeerUnavailableError
from dap.provisioning import Partner, task_end_at_helper
from recipes.models import Registration

logger = structlog.get_logger(__name__)

LONGEST_PUBLISHING = timedelta(minutes=15)
"""After which nothing can come of a registration any more; it takes seconds."""

REASON = "it was never published"


def registrations_left(*, now: datetime) -> bool:
    """Whether there is any to be released."""
    return Registration.objects.filter(created_at__lte=now - LONGEST_PUBLISHING).exists()


def registrations_release(*, partner: Partner, now: datetime) -> None:
    """Tell the helper of every registration that nothing came of, so that it deletes the keys.

    Marked first, so that who may still be publishing cannot do so any more; forgotten when the helper
    has acknowledged it. May be run at any time, twice, and die anywhere.
    """
    old = Registration.objects.filter(created_at__lte=now - LONGEST_PUBLISHING)
    with transaction.atomic():
        old.filter(abandoned_at=None).update(abandoned_at=now)
    for registration in old.exclude(abandoned_at=None).order_by("pk"):
        try:
            task_end_at_helper(partner, task_id=bytes.fromhex(registration.identifier), reason=REASON)
        except PeerUnavailableError:
            # The next is for the same helper. Later.
            return
        except PeerRefusedError as error:
            logger.warning("registration_not_released", task=registration.identifier, error=str(error))
        registration.delete()

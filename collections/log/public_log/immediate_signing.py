"""If no worker runs, the process that adds an entry signs it, directly after the commit.

A process may die before that, or have no signing key, such as one that only deletes what is due. Then the
next entry, health check or request for the checkpoint does it.
"""

import structlog
from django.conf import settings
from django.db import DatabaseError, transaction

from log.public_log.tree_growth import integrate

logger = structlog.get_logger(__name__)


def sign_after_commit(**_: object) -> None:
    """Receiver of the signal that an entry was written."""
    transaction.on_commit(sign_now)


def sign_now() -> None:
    """Give new entries their leaves, and sign the tree. The entry stays even if this fails."""
    if not settings.SIGNING_KEY:
        return
    try:
        integrate()
    except DatabaseError:
        logger.warning("log_not_signed_yet", exc_info=True)

"""Writing the log."""

import hashlib
import secrets
from collections.abc import Mapping
from typing import Any

import rfc8785
from django.contrib.auth.base_user import AbstractBaseUser
from django.db import transaction
from django.utils import timezone

from audit.models import Action, Entry, Head


def hash_of(entry: Entry) -> str:
    """SHA-256 of the canonical JSON (RFC 8785) of every column but the hash itself and an empty salt."""
    members = {
        "index": entry.index,
        "at": entry.at.isoformat(),
        "actor": entry.actor,
        "action": str(entry.action),
        "subject": entry.subject,
        "details": entry.details,
        "previous_hash": entry.previous_hash,
    }
    if entry.salt:
        # Entries from before there were salts have none, and keep the hashes that people noted.
        members["salt"] = entry.salt
    return hashlib.sha256(rfc8785.dumps(members)).hexdigest()


@transaction.atomic
def entry_append(
    *, action: Action, subject: str, actor: AbstractBaseUser | None, details: Mapping[str, Any]
) -> Entry:
    """Append one entry, in the caller's transaction if there is one.

    Call it last in a transaction: it takes the lock that all writers of the log share.

    Args:
        action: what happened.
        subject: identifier of the recipe, or name of the account or group concerned.
        actor: who did it; None for the system itself.
        details: JSON values; never anything about a device.
    """
    head = Head.objects.select_for_update().get()
    entry = Entry(
        index=head.index + 1,
        at=timezone.now(),
        actor=actor.get_username() if actor is not None else "",
        action=action,
        subject=subject,
        details=dict(details),
        salt=secrets.token_hex(16),
        previous_hash=head.entry_hash,
    )
    entry.entry_hash = hash_of(entry)
    entry.save(force_insert=True)
    head.index, head.entry_hash = entry.index, entry.entry_hash
    head.save()
    return entry

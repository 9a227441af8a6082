"""Writing the log."""

import hashlib
import secrets
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

from django.contrib.auth.base_user import AbstractBaseUser
from django.db import transaction
from django.utils import timezone

from log.audit.models import Entry, Head
from log.audit.registry import Action
from log.audit.used_token import used_token
from panprivacy.formats.canonical_json import canonical_json


def hash_of(entry: Entry) -> str:
    """SHA-256 of the canonical JSON (RFC 8785) of every column but the hash itself."""
    members = {
        "index": entry.index,
        "at": entry.at.isoformat(),
        "actor": entry.actor,
        "action": entry.action,
        "subject": entry.subject,
        "details": entry.details,
        "salt": entry.salt,
    }
    return hashlib.sha256(canonical_json(members)).hexdigest()


def log_lock() -> Head:
    """The lock that all writers of the log share, until the end of the transaction: for what may be counted
    and then made by one at a time. Appending an entry takes it, too. Lock other rows first."""
    return Head.objects.select_for_update().get()


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
        details: JSON values; never anything about a device. What came with an API token has its public name
            added, as `api_token`.
    """
    token = used_token.get() if actor is not None else ""
    head = log_lock()
    entry = Entry(
        index=head.index + 1,
        at=timezone.now(),
        actor=actor.get_username() if actor is not None else "",
        action=action.name,
        subject=subject,
        details={**details, **({"api_token": token} if token else {})},
        salt=secrets.token_hex(16),
    )
    entry.entry_hash = hash_of(entry)
    entry.save(force_insert=True)
    # Its hash is signed for good: what the database gives back must be what was hashed.
    if hash_of(Entry.objects.get(pk=entry.pk)) != entry.entry_hash:
        raise ValueError(f"the details of {action.name} are not read as they were written")
    head.index = entry.index
    head.save()
    return entry


def key_introduced(action: Action) -> Callable[[int, str, list[int]], Entry]:
    """A function that writes of a key pair: its number, the SHA-256 of what is handed out, and the numbers of
    the keys that it retires."""

    def write(config_id: int, digest: str, retired: list[int]) -> Entry:
        details = {"sha256": digest, "retires": retired}
        return entry_append(action=action, subject=str(config_id), actor=None, details=details)

    return write


def entry_append_bounded(
    *,
    action: Action,
    subject: str,
    actor: AbstractBaseUser | None,
    details: Mapping[str, Any],
    most: int,
    within: timedelta,
    whatever_subject: bool = False,
    alike: str = "",
) -> None:
    """Append one entry, unless the log has enough of its kind from lately.

    For what anyone can cause as often as they like: entries cannot be deleted from the log.

    Args:
        action, subject, actor, details: as in `entry_append`.
        most: entries of this action and subject that are appended within the time.
        within: the time.
        whatever_subject: whether entries of other subjects count, too.
        alike: name of a detail; if one is named, only entries count that have the same, or none either.
    """
    earlier = Entry.objects.filter(action=action.name)
    if not whatever_subject:
        earlier = earlier.filter(subject=subject)
    if alike in details:
        earlier = earlier.filter(**{f"details__{alike}": details[alike]})
    elif alike:
        earlier = earlier.filter(**{f"details__{alike}__isnull": True})

    def has_room() -> bool:
        # The oldest of the newest ones that reach the limit: few rows are read, however long the log is.
        last = earlier.order_by("-index").values_list("at", flat=True)[most - 1 : most].first()
        return last is None or last <= timezone.now() - within

    # Checked before locking: a flood waits for no lock.
    if not has_room():
        return
    with transaction.atomic():
        log_lock()
        if has_room():
            entry_append(action=action, subject=subject, actor=actor, details=details)

"""Reading the log."""

from collections.abc import Sequence
from typing import Any

from django.db.models import Q, QuerySet

from log.audit.models import Entry
from log.audit.operations import hash_of
from log.audit.registry import public_actions

COLUMNS = ("index", "at", "actor", "action", "subject", "details", "salt", "entry_hash")


class BrokenLogError(ValueError):
    """The log was changed outside the product; the message names the first entry that does not fit."""


def entries_search(
    *,
    text: str = "",
    action: str = "",
    actor: str = "",
    subject: str = "",
    subjects: Sequence[QuerySet[Any, Any]] = (),
) -> QuerySet[Entry]:
    """Entries, newest first, that match every filter given.

    Args:
        text: an index, the beginning of a hash (8 digits or more), or words of subject or actor.
        action: name of an action.
        actor: exact username.
        subject: exact identifier or username.
        subjects: queries for one column each: other subjects of entries that the text may mean.
    """
    entries = Entry.objects.all()
    is_number = text.isascii() and text.isdigit() and len(text) < 16
    if text:
        if is_number:
            matches = Q(index=int(text)) | Q(subject__startswith=text)
        else:
            matches = Q(subject__icontains=text) | Q(actor__icontains=text)
        if len(text) >= 8:  # the beginning of a hash may consist of digits only
            matches |= Q(entry_hash__startswith=text.lower())
        for named in subjects:
            matches |= Q(subject__in=named)
        entries = entries.filter(matches)
    exact = {"action": action, "actor": actor, "subject": subject}
    return entries.filter(**{name: value for name, value in exact.items() if value})


def public_entries(
    *, text: str = "", action: str = "", named: Sequence[QuerySet[Any, Any]] = ()
) -> QuerySet[Entry]:
    """Entries of public actions, newest first, that match; the filters use only public details.

    Args:
        text: an index, or the beginning (8 characters or more) of an identifier, or of the hash of an entry
            or of a result; any text matches subjects that `named` has.
        action: name of an action.
        named: as `subjects` of `entries_search`.
    """
    entries = Entry.objects.filter(action__in=public_actions())
    if action:
        entries = entries.filter(action=action)
    if not text:
        return entries
    matches = Q(subject=text)
    if text.isascii() and text.isdigit() and len(text) < 16:
        matches |= Q(index=int(text))
    if len(text) >= 8:
        beginning = text.lower()
        matches |= Q(subject__startswith=beginning) | Q(entry_hash__startswith=beginning)
        matches |= Q(details__result__startswith=beginning)
    for subjects in named:
        matches |= Q(subject__in=subjects)
    return entries.filter(matches)


def entries_of_recipe(identifier: str) -> QuerySet[Entry]:
    """The public log of one recipe, oldest first."""
    return Entry.objects.filter(subject=identifier, action__in=public_actions()).order_by("index")


def entry_document(entry: Entry) -> dict[str, Any]:
    """The entry's columns as plain JSON values: what its hash covers, and the hash."""
    return {name: getattr(entry, name) for name in COLUMNS} | {"at": entry.at.isoformat()}


def entry_verify(entry: Entry) -> None:
    """Check an entry against its hash.

    Raises:
        BrokenLogError: it was changed.
    """
    if hash_of(entry) != entry.entry_hash:
        raise BrokenLogError(f"entry {entry.index} does not match its hash")

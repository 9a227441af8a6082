"""Reading the log."""

from collections.abc import Generator, Iterable, Sequence
from contextlib import closing
from typing import Any, cast

from django.db.models import Q, QuerySet

from audit.models import GENESIS, Entry, Head
from audit.operations import hash_of
from audit.registry import public_actions

COLUMNS = ("index", "at", "actor", "action", "subject", "details", "salt", "previous_hash", "entry_hash")


class BrokenChainError(ValueError):
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
        subjects: queries for one column each: what else the text stands for, as subjects of entries.
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


def entries_of_recipe(identifier: str) -> QuerySet[Entry]:
    """The public log of one recipe, oldest first."""
    return Entry.objects.filter(subject=identifier, action__in=public_actions()).order_by("index")


def entry_document(entry: Entry) -> dict[str, Any]:
    """The entry's columns as plain JSON values: what its hash covers, and the hash."""
    return {name: getattr(entry, name) for name in COLUMNS} | {"at": entry.at.isoformat()}


def log_verify() -> None:
    """Check the whole log: from its beginning, link by link, to the remembered end.

    Raises:
        BrokenChainError: an entry was changed, removed or inserted.
    """
    # The end first, and no transaction, which would hold up writers: later entries lie beyond it.
    head = Head.objects.get()
    entries = Entry.objects.filter(index__lte=head.index).order_by("index")
    # PostgreSQL reads through a cursor, which must not stay open if an entry is wrong.
    rows = cast("Generator[Entry, None, None]", entries.iterator())  # its stated type has no `close`
    with closing(rows) as oldest_first:
        last, last_hash = chain_verify(oldest_first)
    if (last, last_hash) != (head.index, head.entry_hash):
        raise BrokenChainError(f"the log should end with entry {head.index}, not {last}")


def chain_verify(entries: Iterable[Entry]) -> tuple[int, str]:
    """Check entries from the first of the log on, oldest first, against their hashes.

    Returns:
        index and hash of the last one.

    Raises:
        BrokenChainError: an entry was changed, removed or inserted.
    """
    index, previous_hash = 0, GENESIS
    for entry in entries:
        if hash_of(entry) != entry.entry_hash:
            raise BrokenChainError(f"entry {entry.index} does not match its hash")
        if (entry.index, entry.previous_hash) != (index + 1, previous_hash):
            raise BrokenChainError(f"entry {entry.index} does not follow the entry before it")
        index, previous_hash = entry.index, entry.entry_hash
    return index, previous_hash

"""The audit log for programs that watch for intrusions (SIEM): one JSON object an entry, at least once each.

An entry is visible only when all before it are, and numbers have no gaps. So what was sent is one number, and
a receiver sees by the numbers whether it missed an entry.
"""

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, Self

from log.audit.models import Entry
from log.audit.selectors import BrokenLogError, entry_document
from panprivacy.formats.errors import FieldError

ENTRIES_AT_ONCE = 200

BOOKMARK_BYTES = 1_000
"""More than a file of a bookmark has."""


class NotSentError(RuntimeError):
    """The receiver did not take all entries of a batch; the message states why. Send the batch again."""


class Receiver(Protocol):
    """Takes entries."""

    def send(self, entries: Sequence[Entry]) -> None:
        """Send these entries, in their order. Raises NotSentError."""


@dataclass(frozen=True)
class Bookmark:
    """The last entry that was sent.

    Attributes:
        index: its number; 0 if none was sent.
        entry_hash: its hash; empty if it is not known.
    """

    index: int = 0
    entry_hash: str = ""

    @classmethod
    def read(cls, file: Path) -> Self:
        """The bookmark in a file; the beginning of the log if there is no such file.

        Raises:
            FieldError: named `state`: it cannot be read, or is no bookmark.
        """
        try:
            with file.open("rb") as opened:
                fields = json.loads(opened.read(BOOKMARK_BYTES))
            bookmark = cls(**fields)
        except FileNotFoundError:
            return cls()
        except OSError as error:
            raise FieldError("state", f"cannot be read: {error.strerror}") from None
        except (ValueError, TypeError, RecursionError):
            raise FieldError("state", "is no file that this command wrote") from None
        if type(bookmark.index) is not int or bookmark.index < 0 or not isinstance(bookmark.entry_hash, str):
            raise FieldError("state", "is no file that this command wrote")
        return bookmark

    def write(self, file: Path) -> None:
        """Replace the file: a crash leaves the old one or the new one.

        Raises:
            FieldError: named `state`: it cannot be written.
        """
        new = file.with_name(f"{file.name}.new")
        try:
            # Not through a link that another account has put there.
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
            with open(os.open(new, flags, 0o600), "w") as opened:
                json.dump({"index": self.index, "entry_hash": self.entry_hash}, opened)
                opened.flush()
                os.fsync(opened.fileno())
            new.replace(file)
        except OSError as error:
            raise FieldError("state", f"cannot be written: {error.strerror}") from None

    def following(self) -> list[Entry]:
        """The next entries, at most `ENTRIES_AT_ONCE`.

        Raises:
            BrokenLogError: the last entry that was sent is not in the log as it was.
        """
        first = self.index if self.entry_hash else self.index + 1
        found = Entry.objects.filter(index__gte=first).order_by("index")[: ENTRIES_AT_ONCE + 1]
        entries = list(found)
        if not self.entry_hash:
            return entries[:ENTRIES_AT_ONCE]
        if not entries or (entries[0].index, entries[0].entry_hash) != (self.index, self.entry_hash):
            raise BrokenLogError(f"entry {self.index} was sent, and is not in the log as it was sent")
        return entries[1:]


def entries_send(receiver: Receiver, bookmark: Bookmark) -> Bookmark:
    """Send the entries that follow, at most `ENTRIES_AT_ONCE`; the bookmark after them, the same if there are
    none. No transaction is open while a receiver is waited for.

    Raises:
        BrokenLogError: as `Bookmark.following`.
        NotSentError: send them again.
    """
    entries = bookmark.following()
    if not entries:
        return bookmark
    receiver.send(entries)
    return Bookmark(entries[-1].index, entries[-1].entry_hash)


def line_of(entry: Entry, *, most: int | None = None) -> str:
    """The entry as JSON on one line, in ASCII; its fields are those of the log's exports.

    Args:
        most: bytes of a line. The details of an entry that is longer are left out; in their place
            `details_bytes` is their length. All other fields together need less than 6,000.
    """
    fields = entry_document(entry)
    line = _json(fields)
    if most is None or len(line) <= most:
        return line
    details = _json(fields.pop("details"))
    return _json(fields | {"details_bytes": len(details)})


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))

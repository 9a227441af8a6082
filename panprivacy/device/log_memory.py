"""What a device remembers of public logs: the newest checkpoint of each, and any that contradicted it.

One file for all recipes, unlike the state of a recipe: otherwise a site could show a tree of its own with
each. It holds which logs the device follows and how far; nothing about any event, value or coin.
"""

from collections.abc import Mapping
from typing import Any

from panprivacy.device.notes_file import NotesFile
from panprivacy.device.storage import StateFileError
from panprivacy.protocols.transparency.checkpoint import Checkpoint
from panprivacy.protocols.transparency.signed_note import Note, NoteError

NEWEST, CONTRADICTING = "newest", "against"
"""For each log: the known checkpoint, and one that contradicts it."""


class LogMemoryError(StateFileError):
    """A file that holds no memory of logs."""


class LogMemory(NotesFile):
    """Notes by the names of logs, as in `NotesFile`; LogMemoryError if the file holds something else."""

    format, named, about, refusal = "panapp-device-logs-1", "logs", "logs", LogMemoryError

    @staticmethod
    def are_notes(notes: Mapping[str, Any]) -> bool:
        try:
            return all(
                NEWEST in of_log
                and of_log.keys() <= {NEWEST, CONTRADICTING}
                and all(_checkpoint(note).origin == origin for note in of_log.values())
                for origin, of_log in notes.items()
            )
        except NoteError:
            return False

    def newest(self, origin: str) -> Checkpoint | None:
        """The newest checkpoint that was seen of a log; None if none was."""
        note = self._notes.get(origin, {}).get(NEWEST)
        return None if note is None else _checkpoint(note)

    def is_contradicted(self, origin: str) -> bool:
        """Whether there is evidence against a log."""
        return CONTRADICTING in self._notes.get(origin, {})

    def remember(self, origin: str, note: bytes) -> None:
        """Replace the stored checkpoint by a newer one, durably."""
        self._keep(origin, {NEWEST: note.decode()})

    def record_contradiction(self, origin: str, note: bytes) -> None:
        """Keep a contradicting checkpoint together with the newest one, permanently."""
        self._keep(origin, self._notes[origin] | {CONTRADICTING: note.decode()})


def _checkpoint(note: str) -> Checkpoint:
    return Checkpoint.parse(Note.decode(note.encode()).text)

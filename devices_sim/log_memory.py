"""What a device remembers of public logs: the newest checkpoint of each, and what contradicted it.

One file for all recipes, unlike the state of a recipe: a site could else show a tree of its own with each.
It says which logs the device follows and how far; nothing of any event, value or coin.
"""

import json
from collections.abc import Mapping
from pathlib import Path

import rfc8785

from devices_sim.storage import AtomicFile, StateFileError
from devices_sim.transport import Closable
from panprivacy.transparency.checkpoint import Checkpoint
from panprivacy.transparency.signed_note import Note, NoteError

FORMAT = "panapp-device-logs-1"
NEWEST, AGAINST = "newest", "against"
"""Of each log: what is remembered, and a checkpoint that contradicts it."""


class LogMemoryError(StateFileError):
    """A file that holds no memory of logs."""


class LogMemory(Closable):
    """A file with notes by the names of logs, made where there is none. It is locked until it is closed.

    Raises:
        LogMemoryError: the file holds something else.
        StateFileBusyError, StateFileError: as of `AtomicFile`.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = AtomicFile(path)
        try:
            self._logs = _decode(path, self._file.read())
        except BaseException:
            self._file.close()
            raise

    def newest(self, origin: str) -> Checkpoint | None:
        """The newest checkpoint that was seen of a log; None where none was."""
        note = self._logs.get(origin, {}).get(NEWEST)
        return None if note is None else _checkpoint(note)

    def is_contradicted(self, origin: str) -> bool:
        """Whether there is evidence against a log."""
        return AGAINST in self._logs.get(origin, {})

    def remember(self, origin: str, note: bytes) -> None:
        """Keep a newer checkpoint in place of the one before, durably."""
        self._keep(origin, {NEWEST: note.decode()})

    def accuse(self, origin: str, note: bytes) -> None:
        """Keep a checkpoint that contradicts the newest one beside it, for good."""
        self._keep(origin, self._logs[origin] | {AGAINST: note.decode()})

    def close(self) -> None:
        self._file.close()

    def _keep(self, origin: str, notes: dict[str, str]) -> None:
        logs = self._logs | {origin: notes}
        self._file.replace(rfc8785.dumps({"format": FORMAT, "logs": logs}) + b"\n")
        self._logs = logs


def _decode(path: Path, content: bytes | None) -> dict[str, dict[str, str]]:
    if content is None:
        return {}
    try:
        members = json.loads(content)
        logs = members["logs"]
        if members["format"] != FORMAT or not all(_is_log(*item) for item in logs.items()):
            raise ValueError
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError):
        raise LogMemoryError(f"{path} is not a device's memory of logs, or is damaged") from None
    return dict(logs)


def _is_log(origin: str, notes: Mapping[str, str]) -> bool:
    try:
        return NEWEST in notes and all(
            name in (NEWEST, AGAINST) and _checkpoint(note).origin == origin for name, note in notes.items()
        )
    except NoteError:
        return False


def _checkpoint(note: str) -> Checkpoint:
    return Checkpoint.parse(Note.decode(note.encode()).text)

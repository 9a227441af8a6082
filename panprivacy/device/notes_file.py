"""What a device remembers of all recipes together: notes by name, in one file of JSON."""

import json
from abc import abstractmethod
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, ClassVar

from panprivacy.device.storage import StateFileError, StateStore, location_name, open_store
from panprivacy.device.transport import Closable
from panprivacy.formats.canonical_json import canonical_json


class NotesFile(Closable):
    """A file with notes by name, made if there is none, or another store. It is locked until it is closed.

    Attributes:
        location: the name of the file, in messages.

    Raises:
        StateFileError: of the class `refusal`, the file holds something else; or as in `AtomicFile`.
        StateFileBusyError: as in `AtomicFile`.
    """

    format: ClassVar[str]
    named: ClassVar[str]
    """The field that has the notes by name."""

    about: ClassVar[str]
    refusal: ClassVar[type[StateFileError]]

    def __init__(self, location: Path | StateStore) -> None:
        self.location = location_name(location)
        with ExitStack() as opened:
            self._store = opened.enter_context(open_store(location))
            self._notes = self._decode(self._store.read())
            self._opened = opened.pop_all()

    @staticmethod
    @abstractmethod
    def are_notes(notes: Mapping[str, Any]) -> bool:
        """Whether these, any JSON values, can be notes of their names. May raise what wrong types raise."""

    def close(self) -> None:
        self._opened.close()

    def _keep(self, name: str, notes: dict[str, Any]) -> None:
        """Replace the notes of this name, durably."""
        kept = self._notes | {name: notes}
        self._store.write(canonical_json({"format": self.format, self.named: kept}) + b"\n")
        self._notes = kept

    def _decode(self, content: bytes | None) -> dict[str, dict[str, Any]]:
        if content is None:
            return {}
        try:
            members = json.loads(content)
            notes = members[self.named]
            # Byte for byte what this program writes: no other field, none twice, no number beyond JSON's.
            is_own = canonical_json({"format": self.format, self.named: notes}) + b"\n" == content
            if not (is_own and self.are_notes(notes)):
                raise ValueError
        except (AttributeError, KeyError, TypeError, ValueError, RecursionError):
            raise self.refusal(
                f"{self.location} is not a device's memory of {self.about}, or is damaged"
            ) from None
        return dict(notes)

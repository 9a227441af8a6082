"""What a device remembers of recipes in rounds: which recipe it saw as each round, and whether it gave.

One file for all recipes: a site could else ask the same round twice, or a device again that gives once. It
says which rounds the device heard of, and in which one its coin let it give; nothing of any event or value.
"""

import json
from pathlib import Path
from typing import Any

import rfc8785

from devices_sim.storage import AtomicFile, StateFileError
from devices_sim.transport import Closable
from panprivacy.rounds.document import RoundRefusedError

FORMAT = "panapp-device-rounds-1"
SEEN, GAVE = "seen", "gave"
"""Of each document: recipe by the number of its round; and in which round the device gave, 0 for none."""


class RoundsMemoryError(StateFileError):
    """A file that holds no memory of rounds."""


class RoundsMemory(Closable):
    """A file with notes by documents of rounds, made where there is none. It is locked until it is closed.

    Raises:
        RoundsMemoryError: the file holds something else.
        StateFileBusyError, StateFileError: as of `AtomicFile`.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = AtomicFile(path)
        try:
            self._documents = _decode(path, self._file.read())
        except BaseException:
            self._file.close()
            raise

    def is_known(self, document: str) -> bool:
        """Whether a round of this document was seen before."""
        return document in self._documents

    def gave_in(self, document: str) -> int | None:
        """The number of the round in which the device gave; None for none so far."""
        found: int = self._of(document)[GAVE]
        return found or None

    def see(self, document: str, number: int, recipe: str) -> None:
        """Note which recipe a round is, durably.

        Raises:
            RoundRefusedError: another recipe was shown as this round before.
        """
        notes = self._of(document)
        before = notes[SEEN].get(str(number), recipe)
        if before != recipe:
            raise RoundRefusedError(f"round {number:,} was another recipe before: {before}")
        self._keep(document, {**notes, SEEN: {**notes[SEEN], str(number): recipe}})

    def give(self, document: str, number: int) -> None:
        """Note that the device gives in this round, durably and before it keeps anything of it."""
        self._keep(document, {**self._of(document), GAVE: number})

    def close(self) -> None:
        self._file.close()

    def _of(self, document: str) -> dict[str, Any]:
        return self._documents.get(document, {SEEN: {}, GAVE: 0})

    def _keep(self, document: str, notes: dict[str, Any]) -> None:
        documents = self._documents | {document: notes}
        self._file.replace(rfc8785.dumps({"format": FORMAT, "documents": documents}) + b"\n")
        self._documents = documents


def _decode(path: Path, content: bytes | None) -> dict[str, dict[str, Any]]:
    if content is None:
        return {}
    try:
        members = json.loads(content)
        documents = members["documents"]
        if members["format"] != FORMAT or not all(_are_notes(notes) for notes in documents.values()):
            raise ValueError
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError):
        raise RoundsMemoryError(f"{path} is not a device's memory of rounds, or is damaged") from None
    return dict(documents)


def _are_notes(notes: Any) -> bool:
    seen, gave = notes[SEEN], notes[GAVE]
    return type(gave) is int and all(isinstance(recipe, str) for recipe in seen.values())

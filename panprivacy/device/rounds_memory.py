"""What a device remembers of recipes in rounds: which recipe it saw as each round, and whether it gave.

One file for all recipes: otherwise a site could ask the same round twice, or ask a device again that gives
once. It holds the rounds that the device saw, and the one in which its coin let it give; nothing about any
event or value.
"""

from collections.abc import Mapping
from typing import Any

from panprivacy.device.notes_file import NotesFile
from panprivacy.device.storage import StateFileError
from panprivacy.recipe.rounds.document import RoundRefusedError

SEEN, GAVE = "seen", "gave"
"""Of each document: recipe by the number of its round; and in which round the device gave, 0 for none."""


class RoundsMemoryError(StateFileError):
    """A file that holds no memory of rounds."""


class RoundsMemory(NotesFile):
    """Notes by documents of rounds, as in `NotesFile`; RoundsMemoryError if the file holds something else."""

    format, named, about, refusal = "panapp-device-rounds-1", "documents", "rounds", RoundsMemoryError

    @staticmethod
    def are_notes(notes: Mapping[str, Any]) -> bool:
        return all(
            type(each[GAVE]) is int and all(isinstance(recipe, str) for recipe in each[SEEN].values())
            for each in notes.values()
        )

    def is_known(self, document: str) -> bool:
        """Whether a round of this document was already seen."""
        return document in self._notes

    def donation_round(self, document: str) -> int | None:
        """The number of the round in which the device gave; None for none so far."""
        found: int = self._of(document)[GAVE]
        return found or None

    def record_round(self, document: str, number: int, recipe: str) -> None:
        """Note which recipe a round is, durably.

        Raises:
            RoundRefusedError: another recipe was already shown as this round.
        """
        notes = self._of(document)
        before = notes[SEEN].get(str(number), recipe)
        if before != recipe:
            raise RoundRefusedError(f"round {number:,} was another recipe before: {before}")
        self._keep(document, {**notes, SEEN: {**notes[SEEN], str(number): recipe}})

    def record_donation(self, document: str, number: int) -> None:
        """Note that the device gives in this round, durably, ahead of all other state of the round."""
        self._keep(document, {**self._of(document), GAVE: number})

    def _of(self, document: str) -> dict[str, Any]:
        return self._notes.get(document, {SEEN: {}, GAVE: 0})

"""A recipe that is asked repeatedly: the base of both types of repetition."""

from abc import ABC, abstractmethod
from datetime import datetime
from typing import Any, ClassVar

from panprivacy.recipe.draft import RecipeDraft


class Repetition(ABC):
    """A file of several rounds, not yet published."""

    recipe: RecipeDraft
    """What every round asks. Its `opens_at` is when the first round opens, or None for immediately."""

    shared_line: ClassVar[bool] = False
    """Whether one line of the population's ledger is reserved for all rounds; otherwise one for each
    opening."""

    @abstractmethod
    def openings(self, now: datetime) -> tuple[datetime, ...]:
        """When rounds open, as far as that is known in advance: at least for the first.

        Args:
            now: the first opening time if the recipe names none.

        Raises:
            FieldError: there is no round, or one closes at a time that documents cannot express.
        """

    @abstractmethod
    def closes(self, opens_at: datetime) -> datetime:
        """When a round that opens at a time closes."""

    @abstractmethod
    def as_dict(self) -> dict[str, Any]:
        """The fields of the file."""

"""A recipe that is asked repeatedly: the base of both types of repetition."""

from abc import ABC, abstractmethod
from datetime import datetime
from typing import Any, ClassVar

from panprivacy.accounting.interface import PrivacyEvent
from panprivacy.recipe.draft import RecipeDraft
from panprivacy.statistics.interface import Statistic, event_with_collusion


class Repetition(ABC):
    """A file of several rounds, not yet published."""

    recipe: RecipeDraft
    """What every round asks. Its `opens_at` is when the first round opens, or None for immediately."""

    shared_line: ClassVar[bool] = False
    """Whether one line of the population's ledger is reserved for all rounds; otherwise one for each opening.
    Each is for `event_of`."""

    @abstractmethod
    def openings(self, now: datetime) -> tuple[datetime, ...]:
        """When rounds open, as far as that is known in advance: at least for the first.

        Args:
            now: the first opening time if the recipe names none.

        Raises:
            FieldError: there is no round, or one closes at a time that documents cannot express.
        """

    def event_of(self, statistic: Statistic[Any], dishonest_fraction: float = 0.0) -> PrivacyEvent:
        """The cost of one of these lines.

        Args:
            statistic: of a round: the recipe's, or the same with other parameters.
            dishonest_fraction: the part of the cohort that colludes with the observer, below 1.
        """
        return event_with_collusion(statistic, dishonest_fraction)

    @abstractmethod
    def closes(self, opens_at: datetime) -> datetime:
        """When a round that opens at a time closes."""

    @property
    def condition(self) -> str:
        """What `event_of` assumes, as a clause; empty if it assumes nothing."""
        return self.recipe.calibrated_statistic().budget_condition

    @abstractmethod
    def as_dict(self) -> dict[str, Any]:
        """The fields of the file."""

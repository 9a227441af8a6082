"""A recipe that is asked again and again: what is common to all ways of repeating one."""

from abc import ABC, abstractmethod
from datetime import datetime
from typing import Any

from panprivacy.accounting.interface import PrivacyEvent
from panprivacy.recipe_draft import RecipeDraft
from panprivacy.statistic import Statistic


class Repetition(ABC):
    """A file of several rounds before it is published."""

    recipe: RecipeDraft
    """What every round asks. Its `opens_at` is when the first round opens, or None for at once."""

    @abstractmethod
    def openings(self, now: datetime) -> tuple[datetime, ...]:
        """When rounds open, as far as that is known beforehand: at least of the first.

        Args:
            now: taken for the first where the recipe names no time.

        Raises:
            FieldError: there is no round, or one closes at no time that documents can name.
        """

    @abstractmethod
    def round_count(self, openings: tuple[datetime, ...]) -> int:
        """How many rounds there are in all."""

    def lines(self, openings: tuple[datetime, ...]) -> int:
        """How many lines of the population's book are reserved, each for `event_of`."""
        return len(openings)

    def event_of(self, statistic: Statistic[Any], dishonest_fraction: float = 0.0) -> PrivacyEvent:
        """What one of these lines costs.

        Args:
            statistic: of a round: that of the recipe, or the same with other parameters.
            dishonest_fraction: the part of the cohort that colludes with the observer, below 1.
        """
        return statistic.aggregator_event(dishonest_fraction)

    @abstractmethod
    def closes(self, opens_at: datetime, now: datetime) -> datetime:
        """When a round that opens at a time closes."""

    @property
    def condition(self) -> str:
        """What `event_of` relies on, as a clause; empty where it holds as it is."""
        return self.recipe.calibrated_statistic().budget_condition

    @abstractmethod
    def as_dict(self) -> dict[str, Any]:
        """The members of the file."""

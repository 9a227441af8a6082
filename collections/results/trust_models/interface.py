"""How a published recipe comes to its result under each trust model."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from panprivacy.accounting.trust import Trust
from recipes.models import Recipe
from results.outcomes import Outcome, Progress


class CollectionModel(ABC):
    """The collections of one trust model, on the site that published them."""

    @property
    @abstractmethod
    def trust(self) -> Trust:
        """Which one; an attribute of the class."""

    cohort_of: ClassVar[str] = "reports"
    """What a cohort consists of."""

    takes_one_cohort: ClassVar[bool] = False
    """Whether no report is taken beyond the cohort size."""

    def advance(self, recipe: Recipe) -> None:  # noqa: B027  # some move on by themselves
        """Bring the summing of an unfinished recipe one step on. May be called at any time, twice."""

    def is_over(self, recipe: Recipe) -> bool:
        """Whether an open recipe can take no more reports, whatever its times are."""
        return False

    @abstractmethod
    def is_settled(self, recipe: Recipe) -> bool:
        """Whether a closed recipe may have an outcome: a cheap check without locks."""

    def draw(self, recipe: Recipe) -> None:  # noqa: B027  # most draw nothing
        """Draw what is random in the outcome of a settled recipe, and store it, in a transaction of its own.

        Called before every attempt to release, and draws once: a database keeps what an attempt wrote that
        came to nothing, and the next one must write the same.

        Raises:
            SourceLostError: what it is drawn from cannot be read until the operator restores its key.
        """

    @abstractmethod
    def outcome(self, recipe: Recipe) -> Outcome | None:
        """The outcome of a closed recipe, whose row is locked, as drawn; None if there is none yet.

        Raises SourceLostError as `draw` does.
        """

    @abstractmethod
    def forget(self, recipe: Recipe, outcome: str) -> None:
        """Delete reports, sums and keys. Called in the transaction that releases or withholds the result.

        Args:
            outcome: what came of it, in words.
        """

    @abstractmethod
    def progress(self, recipe: Recipe) -> Progress:
        """How far a published recipe is, or how far it came."""

    def partner_must_hear(self, recipe: Recipe) -> bool:
        """Whether the partner must still be notified that the recipe ended, and delete what it holds."""
        return False

    def told_with_release(self, recipe: Recipe) -> Mapping[str, Sequence[Any]]:
        """Further fields of a release's document: lists of plain JSON values. Its CSV has their lengths."""
        return {}

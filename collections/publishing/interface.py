"""What this site does differently under each trust model: publishing, closing, and coming to a result."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar

from panprivacy.accounting.trust import Trust
from panprivacy.recipe.document import PublishedRecipe
from panprivacy.recipe.draft import RecipeDraft
from panprivacy.recipe.parts.admission import TokenAdmission
from panprivacy.recipe.parts.target import CitedTarget
from panprivacy.statistics.trust_models import Servers
from partners.partner import Partner
from partners.roles import PartnerRole
from publishing.outcomes import Outcome, Progress
from recipes.models import Recipe

Partners = Mapping[Trust, Partner]
"""The other servers that are set up, by the trust model that needs one of them."""


@dataclass(frozen=True)
class Wish:
    """A recipe that is to be published.

    Attributes:
        now: the time that the document will name.
        simulation: whether it declares itself one.
        partners: the other servers that may be asked.
        universe: the items that a recipe over a list is about; None of every other recipe.
        admission: who issues its tokens; None if any device may report.
        relay: address of the relay; None if it has none.
        target: which devices it asks, with the results that it cites; None if all.
    """

    draft: RecipeDraft
    now: datetime
    simulation: bool
    partners: Partners
    universe: Sequence[str] | None
    admission: TokenAdmission | None = None
    relay: str | None = None
    target: CitedTarget | None = None

    def publish(self, servers: Servers) -> PublishedRecipe:
        """Its document."""
        return self.draft.publish(
            servers,
            self.now,
            simulation=self.simulation,
            admission=self.admission,
            relay=self.relay,
            target=self.target,
        )


class Prepared(ABC):
    """A recipe that is ready to be published, and the secrets that go with it."""

    published: PublishedRecipe

    @abstractmethod
    def store(self, recipe: Recipe) -> None:
        """Store what the model needs, in the transaction that publishes `recipe`, after its row is saved.

        Raises:
            RecipeStateError: it was given up in the meantime; the transaction must not be committed.
        """


class TrustModel(ABC):
    """One trust model, on the site that publishes."""

    @property
    @abstractmethod
    def trust(self) -> Trust:
        """Which one; an attribute of the class."""

    partner: ClassVar[PartnerRole | None] = None
    """The other server that must run for its recipes."""

    cohort_of: ClassVar[str] = "reports"
    """What a cohort consists of."""

    takes_one_cohort: ClassVar[bool] = False
    """Whether no report is taken beyond the cohort size."""

    def unavailable(self, partners: Partners) -> str:
        """Why no recipe of this model can be published, as a clause; empty if one can."""
        return "" if self.partner is None or self.trust in partners else self.partner.missing

    @abstractmethod
    def prepare(self, wish: Wish) -> Prepared:
        """Make the keys and the document. May take seconds and ask others: call it outside of transactions.

        Raises:
            FieldError: the draft cannot be published with its present content.
            PartnerUnavailableError: not at present.
        """

    def close(self, recipe: Recipe) -> None:  # noqa: B027  # most read from the recipe whether it is open
        """Let no report in any more, in the transaction that closes `recipe`."""

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
        """Delete reports, sums and keys, in the transaction that releases or withholds the result.

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

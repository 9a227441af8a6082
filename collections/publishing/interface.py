"""What publishing and closing are under each trust model."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar

from panprivacy.accounting.trust import Trust
from panprivacy.recipe.document import PublishedRecipe
from panprivacy.recipe.draft import RecipeDraft
from panprivacy.recipe.parts.admission import TokenAdmission
from panprivacy.recipe.parts.target import CitedTarget
from panprivacy.statistics.trust_models import Servers
from partners.partner import Partner
from partners.roles import PartnerRole
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

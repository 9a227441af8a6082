"""What publishing and closing a recipe do differently under each trust model."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import ClassVar

from panprivacy.recipe import Recipe as PublishedRecipe
from panprivacy.recipe import RecipeDraft
from panprivacy.trust import Trust
from peers.partner import Partner
from recipes.models import Recipe

Partners = Mapping[Trust, Partner]
"""The other servers that are set up, by the trust model that needs one of them."""


class Holding(ABC):
    """A recipe that is ready to be published, and the secrets that go with it."""

    published: PublishedRecipe

    @abstractmethod
    def store(self, recipe: Recipe) -> None:
        """Keep what is to be kept, in the transaction that publishes `recipe`, after its row is saved.

        Raises:
            RecipeStateError: it was given up in the meantime; the transaction must not be committed.
        """


class Custody(ABC):
    """One trust model, on the side of the server that publishes."""

    trust: ClassVar[Trust]
    needs_partner: ClassVar[bool]
    """Whether another server must run for its recipes."""

    elsewhere: ClassVar[tuple[str, str]] = ("", "")
    """Kind and title of the problem that answers a report sent to this site, if it belongs elsewhere."""

    @abstractmethod
    def upload_elsewhere(self, published: PublishedRecipe) -> str:
        """Where devices send reports, as a sentence, if not to this site's own API; else empty."""

    def items_elsewhere(self, published: PublishedRecipe) -> str:
        """Why no items of a stream are taken here, as a sentence; empty where they are."""
        return "Its devices send reports, to …/reports/ or where its document says."

    @abstractmethod
    def unavailable(self, partners: Partners) -> str:
        """Why no recipe of this model can be published, as a clause; empty where one can."""

    @abstractmethod
    def prepare(
        self,
        draft: RecipeDraft,
        *,
        now: datetime,
        simulation: bool,
        partners: Partners,
        universe: Sequence[str] | None,
    ) -> Holding:
        """Make the keys and the document. May take seconds and ask others: call it outside of transactions.

        Args:
            universe: the items that a recipe over a list is about; None of every other recipe.

        Raises:
            FieldError: the draft cannot be published as it stands.
            PartnerUnavailableError: not now.
        """

    @abstractmethod
    def close(self, recipe: Recipe) -> None:
        """Let no report in any more, in the transaction that closes `recipe`."""

"""A shuffler before the analyzer: this server makes the key pair, and the shuffler agrees to the document.

A registration that is not followed by a publication binds nobody: no device knows of it, and the shuffler
drops it when its time is over.
"""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from panprivacy.encryption import generate_private_key
from panprivacy.recipe import Recipe as PublishedRecipe
from panprivacy.recipe import RecipeDraft
from panprivacy.trust import Trust
from panprivacy.trust_models.shuffler import ShufflerAndAnalyzer
from peers.roles import SHUFFLER
from peers.shuffler_calls import recipe_register
from recipes.custody.agreement import asked, partner_of, require_signed
from recipes.custody.interface import Custody, Holding, Partners
from recipes.custody.single_server import SealedKey
from recipes.models import Recipe, ShufflerSignature


@dataclass(frozen=True)
class _AgreedKey(Holding):
    """A document that the shuffler signed for, and the key to what it will hand on."""

    published: PublishedRecipe
    key: SealedKey
    shuffler_signature: bytes

    def store(self, recipe: Recipe) -> None:
        self.key.store(recipe)
        ShufflerSignature.objects.create(recipe=recipe, signature=self.shuffler_signature)


class ShufflerCustody(Custody):
    """This installation is the analyzer; the partner is the shuffler."""

    trust = Trust.SHUFFLER
    needs_partner = True
    elsewhere = ("recipe-of-a-shuffler", "The recipe is of a shuffler")

    def upload_elsewhere(self, published: PublishedRecipe) -> str:
        return f"Its messages are sent to the shuffler at {published.servers.shuffler_url}."

    def unavailable(self, partners: Partners) -> str:
        return "" if self.trust in partners else SHUFFLER.missing

    def prepare(
        self,
        draft: RecipeDraft,
        *,
        now: datetime,
        simulation: bool,
        partners: Partners,
        universe: Sequence[str] | None,
    ) -> Holding:
        partner = partner_of(SHUFFLER, partners)
        private_key = generate_private_key(draft.encryption, secrets.SystemRandom())
        servers = ShufflerAndAnalyzer(
            shuffler_url=partner.url,
            shuffler_verification_key=partner.verification_key,
            analyzer_key_members=private_key.public_key.to_json(),
        )
        published = draft.publish(servers, now, simulation=simulation)
        signature = asked(
            SHUFFLER,
            partner,
            lambda: recipe_register(
                partner.client(), identifier=published.identifier, document=published.canonical
            ),
        )
        require_signed(SHUFFLER, partner, published, signature)
        return _AgreedKey(published, SealedKey.of(private_key, published), signature)

    def close(self, recipe: Recipe) -> None:
        """Nothing: what the shuffler takes in from now on, it is told to delete (analyzer/intake.py)."""

"""One server: it makes the key pair, and keeps the private half."""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.conf import settings

from dap.provisioning import Partner
from panprivacy.encryption import generate_private_key
from panprivacy.encryption.sealing import seal
from panprivacy.recipe import Recipe as PublishedRecipe
from panprivacy.recipe import RecipeDraft
from panprivacy.servers import OneServer
from panprivacy.trust import Trust
from recipes.custody.interface import Custody, Holding
from recipes.models import Recipe, RecipeKey


@dataclass(frozen=True)
class _SealedKey(Holding):
    published: PublishedRecipe
    sealed: bytes

    def store(self, recipe: Recipe) -> None:
        RecipeKey.objects.create(recipe=recipe, scheme=self.published.servers.scheme, sealed=self.sealed)


class SingleServerCustody(Custody):
    """The key is sealed for its recipe alone."""

    trust = Trust.SINGLE_SERVER
    needs_partner = False

    def upload_elsewhere(self, published: PublishedRecipe) -> str:
        return ""

    def unavailable(self, partner: Partner | None) -> str:
        return ""

    def prepare(
        self,
        draft: RecipeDraft,
        *,
        now: datetime,
        simulation: bool,
        partner: Partner | None,
        universe: Sequence[str] | None,
    ) -> Holding:
        private_key = generate_private_key(draft.encryption, secrets.SystemRandom())
        published = draft.publish(OneServer.of(private_key.public_key), now, simulation=simulation)
        sealed = seal(
            private_key.to_bytes(),
            settings.KEY_ENCRYPTION_KEY,
            associated_data=published.identifier.encode(),
            random_source=secrets.SystemRandom(),
        )
        return _SealedKey(published, sealed)

    def close(self, recipe: Recipe) -> None:
        """Nothing: whether reports are taken is read from the recipe."""

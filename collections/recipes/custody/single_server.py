"""One server: it makes the key pair, and keeps the private half."""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Self

from panprivacy.encryption import generate_private_key
from panprivacy.encryption.interface import PrivateKey
from panprivacy.recipe import Recipe as PublishedRecipe
from panprivacy.recipe import RecipeDraft
from panprivacy.trust import Trust
from panprivacy.trust_models.single_server import OneServer
from recipes.custody.interface import Custody, Holding, Partners
from recipes.models import Recipe, RecipeKey
from storage.sealing import secret_seal


@dataclass(frozen=True)
class SealedKey(Holding):
    """A recipe whose private key this server keeps, sealed."""

    published: PublishedRecipe
    sealed: bytes

    @classmethod
    def of(cls, private_key: PrivateKey, published: PublishedRecipe) -> Self:
        """The key, sealed so that it opens for this recipe alone."""
        sealed = secret_seal(private_key.to_bytes(), kind=b"", owner=published.identifier.encode())
        return cls(published, sealed)

    def store(self, recipe: Recipe) -> None:
        RecipeKey.objects.create(recipe=recipe, scheme=self.published.servers.scheme, sealed=self.sealed)


class SingleServerCustody(Custody):
    """The key is sealed for its recipe alone."""

    trust = Trust.SINGLE_SERVER
    needs_partner = False

    def upload_elsewhere(self, published: PublishedRecipe) -> str:
        return ""

    def unavailable(self, partners: Partners) -> str:
        return ""

    def prepare(
        self,
        draft: RecipeDraft,
        *,
        now: datetime,
        simulation: bool,
        partners: Partners,
        universe: Sequence[str] | None,
    ) -> Holding:
        private_key = generate_private_key(draft.encryption, secrets.SystemRandom())
        published = draft.publish(OneServer.of(private_key.public_key), now, simulation=simulation)
        return SealedKey.of(private_key, published)

    def close(self, recipe: Recipe) -> None:
        """Nothing: whether reports are taken is read from the recipe."""

"""One server: it makes the key pair and keeps the private half; reports are decrypted and added up here."""

import secrets
from dataclasses import dataclass

from panprivacy.accounting.trust import Trust
from panprivacy.encryption.interface import PrivateKey
from panprivacy.recipe.document import PublishedRecipe
from panprivacy.statistics.trust_models.single_server import OneServer
from publishing.interface import Prepared, TrustModel, Wish
from publishing.keys import recipe_key_make
from recipes.models import Recipe, RecipeKey
from reports.operations import report_store_set
from reports.rows import ReportRows
from reports.store import ReportStore
from storage.sealing import secret_seal


@dataclass(frozen=True)
class KeptKey(Prepared):
    """A recipe whose private key this server keeps."""

    published: PublishedRecipe
    private_key: PrivateKey

    def store(self, recipe: Recipe) -> None:
        sealed = secret_seal(self.private_key.to_bytes(), kind=b"", owner=str(recipe.identifier).encode())
        RecipeKey.objects.create(recipe=recipe, scheme=self.private_key.public_key.scheme, sealed=sealed)
        self.report_store(recipe).begin()

    def report_store(self, recipe: Recipe) -> ReportStore:
        """Where reports will be kept that another server hands on."""
        return ReportRows(recipe)


@dataclass(frozen=True)
class _ReportedHere(KeptKey):
    """The same if devices send their reports to this server."""

    def report_store(self, recipe: Recipe) -> ReportStore:
        return report_store_set(recipe)


class SingleServerModel(TrustModel):
    """The sum is the recipe's sub-aggregate, once every chunk is in it."""

    trust = Trust.SINGLE_SERVER

    def prepare(self, wish: Wish) -> Prepared:
        private_key = recipe_key_make(wish.draft, secrets.SystemRandom())
        published = wish.publish(OneServer.of(private_key.public_key))
        return _ReportedHere(published, private_key)

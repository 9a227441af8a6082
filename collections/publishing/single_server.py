"""One server: it makes the key pair and keeps the private half; reports are decrypted and added up here."""

import secrets
from dataclasses import dataclass

from panprivacy.accounting.trust import Trust
from panprivacy.encryption.interface import PrivateKey
from panprivacy.recipe.document import PublishedRecipe
from panprivacy.statistics.trust_models.single_server import OneServer
from publishing.interface import Prepared, TrustModel, Wish
from publishing.keys import recipe_key_make
from publishing.outcomes import Outcome, Progress, Refused, ServerProgress, Sum, TooFew
from recipes.models import Recipe, RecipeKey
from reports.operations import rejections_by_reason, report_store_set
from reports.rows import ReportRows
from reports.store import ReportStore
from results.aggregation.selectors import progress_of
from results.aggregation.summing import reports_lost, sum_advance, sum_forget, sum_is_settled, sum_of
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
        return report_store_set()(recipe)


class SingleServerModel(TrustModel):
    """The sum is the recipe's sub-aggregate, once every chunk is in it."""

    trust = Trust.SINGLE_SERVER

    def prepare(self, wish: Wish) -> Prepared:
        private_key = recipe_key_make(wish.draft, secrets.SystemRandom())
        published = wish.publish(OneServer.of(private_key.public_key))
        return _ReportedHere(published, private_key)

    def advance(self, recipe: Recipe) -> None:
        sum_advance(recipe=recipe)

    def is_settled(self, recipe: Recipe) -> bool:
        return sum_is_settled(recipe)

    def outcome(self, recipe: Recipe) -> Outcome | None:
        if lost := reports_lost(recipe):
            return Refused(lost)
        # A closed recipe that cannot reach its cohort size has reports that are never planned.
        found = sum_of(recipe, least=recipe.cohort_size)
        if found is None:
            return None
        if found.reports < recipe.cohort_size:
            return TooFew(found.received)
        return Sum(found.total, found.reports)

    def forget(self, recipe: Recipe, outcome: str) -> None:
        sum_forget(recipe=recipe)

    def progress(self, recipe: Recipe) -> Progress:
        progress = progress_of(recipe)
        server = ServerProgress(
            name="Server", counted=progress.summed, public_rejections=rejections_by_reason(recipe)
        )
        return Progress(progress.received, progress.waiting, (server,))

"""One server: reports are decrypted and added up here."""

from panprivacy.accounting.trust import Trust
from recipes.models import Recipe
from reports.operations import rejections_by_reason, report_store_of
from results.aggregation.operations import progress_of, sum_forget, sum_is_settled, sum_of
from results.aggregation.tasks import sum_advance
from results.outcomes import Outcome, Progress, Refused, ServerProgress, Sum, TooFew
from results.trust_models.interface import CollectionModel


class SingleServerCollection(CollectionModel):
    """The sum is the recipe's sub-aggregate, once every chunk is in it."""

    trust = Trust.SINGLE_SERVER

    def advance(self, recipe: Recipe) -> None:
        sum_advance(recipe=recipe)

    def is_settled(self, recipe: Recipe) -> bool:
        return sum_is_settled(recipe)

    def outcome(self, recipe: Recipe) -> Outcome | None:
        if lost := report_store_of(recipe).lost():
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

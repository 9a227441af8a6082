"""A shuffler in front of the analyzer, which is this site: a whole batch is fetched, then decrypted and
counted.
"""

from panprivacy.accounting.trust import Trust
from panprivacy.statistics.trust_models.shuffler import ShufflerAndAnalyzer
from recipes.models import Recipe
from results.aggregation.operations import progress_of, sum_forget, sum_of
from results.aggregation.tasks import sum_advance
from results.outcomes import (
    Outcome,
    Progress,
    Refused,
    ServerProgress,
    Sum,
    TooFew,
    Trouble,
)
from results.trust_models.interface import CollectionModel
from shuffle.analyzer.batches import fetch_begin, fetch_end
from shuffle.analyzer.models import BatchFetch
from storage import clock
from storage.columns import optional_bytes

State = BatchFetch.State


class ShufflerCollection(CollectionModel):
    """The sum counts the messages of each kind; its reports are users."""

    trust = Trust.SHUFFLER
    takes_one_cohort = True
    cohort_of = "devices"

    def advance(self, recipe: Recipe) -> None:
        fetch = fetch_begin(recipe=recipe, now=clock.database_now())
        # No message is decrypted until all of them have arrived.
        if recipe.status == Recipe.Status.CLOSED and fetch.state == State.FETCHED:
            sum_advance(recipe=recipe, least=0)

    def is_over(self, recipe: Recipe) -> bool:
        return _state(recipe) in {State.FETCHED, State.REFUSED}

    def is_settled(self, recipe: Recipe) -> bool:
        state = _state(recipe)
        return state in {State.NOT_FULL, State.REFUSED} or (
            state == State.FETCHED and not progress_of(recipe).waiting
        )

    def outcome(self, recipe: Recipe) -> Outcome | None:
        fetch = BatchFetch.objects.filter(recipe=recipe).first()
        if fetch is None or not self.is_settled(recipe):
            return None
        if fetch.state == State.NOT_FULL:
            return TooFew(fetch.received)
        if fetch.state == State.REFUSED:
            return Refused(fetch.refusal)
        found = sum_of(recipe, least=0)
        return None if found is None else Sum(found.total, recipe.cohort_size)

    def forget(self, recipe: Recipe, outcome: str) -> None:
        fetch_end(recipe=recipe, reason=outcome, now=clock.database_now())
        sum_forget(recipe=recipe)

    def progress(self, recipe: Recipe) -> Progress:
        servers = recipe.published.servers
        if not isinstance(servers, ShufflerAndAnalyzer):
            raise TypeError("a recipe of a shuffler names it")
        fetch = BatchFetch.objects.filter(recipe=recipe).first() or BatchFetch(recipe=recipe)
        waiting = progress_of(recipe).waiting
        analyzer = ServerProgress(
            name="Analyzer",
            # Users, like the shuffler's; a single message is not a report.
            counted=recipe.cohort_size if fetch.state == State.FETCHED and not waiting else 0,
        )
        shuffler = ServerProgress(
            name="Shuffler",
            url=servers.shuffler_url,
            counted=None,
            public_rejections=fetch.rejected,
            trouble=_trouble(fetch),
            verification_key=servers.shuffler_verification_key,
            count_signature=optional_bytes(fetch.count_signature),
        )
        return Progress(fetch.received, waiting, (analyzer, shuffler))

    def partner_must_hear(self, recipe: Recipe) -> bool:
        return BatchFetch.objects.filter(recipe=recipe, is_deleted_there=False).exists()


def _state(recipe: Recipe) -> str | None:
    return BatchFetch.objects.filter(recipe=recipe).values_list("state", flat=True).first()


def _trouble(fetch: BatchFetch) -> Trouble | None:
    if fetch.failing_since is None:
        return None
    return Trouble(
        since=fetch.failing_since, waiting=1, next_attempt=fetch.send_after, error=fetch.last_error
    )

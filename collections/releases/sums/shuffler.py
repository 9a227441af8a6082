"""A shuffler before the analyzer: a whole batch is fetched, and then decrypted and counted here."""

from django.utils import timezone

from aggregation.models import Chunk, SubAggregate
from aggregation.operations import chunks_plan
from aggregation.selectors import progress_of
from analyzer.intake import intake_begin, intake_end
from analyzer.models import Intake
from panprivacy.trust import Trust
from panprivacy.trust_models.shuffler import ShufflerAndAnalyzer
from recipes.models import Recipe, RecipeKey
from releases.sums.interface import (
    Outcome,
    Refused,
    ServerStanding,
    Standing,
    Sum,
    SumSource,
    TooFew,
    Trouble,
)
from releases.sums.single_server import send_chunks
from reports.models import StoredReports
from reports.selectors import rejections_by_reason

State = Intake.State


class ShufflerSums(SumSource):
    """The sum counts the messages of each kind; its reports are users."""

    trust = Trust.SHUFFLER
    waits_for_another = True

    def advance(self, recipe: Recipe) -> None:
        intake = intake_begin(recipe=recipe, now=timezone.now())
        # Not one message is decrypted before all of them are here.
        if recipe.status == Recipe.Status.CLOSED and intake.state == State.FETCHED:
            send_chunks(chunks_plan(recipe=recipe, least=0))

    def is_over(self, recipe: Recipe) -> bool:
        return _state(recipe) in {State.FETCHED, State.REFUSED}

    def is_settled(self, recipe: Recipe) -> bool:
        state = _state(recipe)
        return state in {State.NOT_FULL, State.REFUSED} or (
            state == State.FETCHED and not progress_of(recipe).waiting
        )

    def outcome(self, recipe: Recipe) -> Outcome | None:
        intake = Intake.objects.filter(recipe=recipe).first()
        if intake is None or not self.is_settled(recipe):
            return None
        if intake.state == State.NOT_FULL:
            return TooFew(intake.received)
        if intake.state == State.REFUSED:
            return Refused(intake.refusal)
        counted = SubAggregate.objects.filter(recipe=recipe).first()
        total = counted.total if counted else [0] * recipe.published.mechanism.contribution_length
        return Sum(tuple(total), recipe.cohort_size)

    def forget(self, recipe: Recipe, outcome: str) -> None:
        intake_end(recipe=recipe, reason=outcome, now=timezone.now())
        # In the order in which a worker that finishes a chunk locks them.
        for model in (Chunk, SubAggregate, StoredReports, RecipeKey):
            model.objects.filter(recipe=recipe).delete()

    def standing(self, recipe: Recipe) -> Standing:
        servers = recipe.published.servers
        if not isinstance(servers, ShufflerAndAnalyzer):
            raise TypeError("a recipe of a shuffler names it")
        intake = Intake.objects.filter(recipe=recipe).first() or Intake(recipe=recipe)
        waiting = progress_of(recipe).waiting
        analyzer = ServerStanding(
            name="Analyzer",
            # Users, like the shuffler's; a message by itself is nobody's report.
            counted=recipe.cohort_size if intake.state == State.FETCHED and not waiting else 0,
            hidden_rejections=rejections_by_reason(recipe),
        )
        shuffler = ServerStanding(
            name="Shuffler", url=servers.shuffler_url, counted=None, trouble=_trouble(intake)
        )
        return Standing(intake.received, waiting, (analyzer, shuffler))


def _state(recipe: Recipe) -> str | None:
    return Intake.objects.filter(recipe=recipe).values_list("state", flat=True).first()


def _trouble(intake: Intake) -> Trouble | None:
    if intake.failing_since is None:
        return None
    return Trouble(
        since=intake.failing_since, waiting=1, next_attempt=intake.send_after, error=intake.last_error
    )

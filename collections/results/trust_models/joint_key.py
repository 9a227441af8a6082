"""Two servers with half a key each: they check proofs, agree on a list, and decrypt its sum."""

from joint_key.leader.models import JointSum
from joint_key.leader.sums import servers_named, sum_begin, sum_end
from panprivacy.accounting.trust import Trust
from recipes.models import Recipe
from reports.models import AcceptedReport
from reports.operations import rejections_by_reason
from reports.proven_rows import INVALID_PROOF
from results.aggregation.operations import progress_of, sum_forget, sum_of
from results.aggregation.tasks import sum_advance
from results.models import Release
from results.outcomes import Outcome, Progress, Refused, ServerProgress, Sum, TooFew, Trouble
from results.trust_models.interface import CollectionModel
from storage import clock
from storage.columns import stored

State = JointSum.State


class JointKeyCollection(CollectionModel):
    """The recipe's sub-aggregate has how many proofs hold; `JointSum` has their count of ones."""

    trust = Trust.JOINT_KEY
    cohort_of = "valid reports"

    def advance(self, recipe: Recipe) -> None:
        sum_advance(recipe=recipe)
        if recipe.status == Recipe.Status.CLOSED and self._accepted(recipe) is not None:
            sum_begin(recipe=recipe, now=clock.database_now())

    def is_settled(self, recipe: Recipe) -> bool:
        row = _row(recipe)
        if row is not None:
            return row.state in {State.COUNTED, State.REFUSED}
        return sum_of(recipe, least=recipe.cohort_size) is not None and self._accepted(recipe) is None

    def outcome(self, recipe: Recipe) -> Outcome | None:
        row = _row(recipe)
        if row is None:
            found = sum_of(recipe, least=recipe.cohort_size)
            return None if found is None or self._accepted(recipe) is not None else TooFew(found.received)
        if row.state == State.REFUSED:
            return Refused(row.refusal)
        return Sum((stored(row.count),), row.reports) if row.state == State.COUNTED else None

    def forget(self, recipe: Recipe, outcome: str) -> None:
        """Accepted reports and the decryption stay if there is a result: others recompute it from them."""
        sum_forget(recipe=recipe)
        released = Release.objects.filter(recipe=recipe, outcome=Release.Outcome.RELEASED).exists()
        sum_end(recipe=recipe, reason=outcome, keep=released, now=clock.database_now())
        if not released:
            AcceptedReport.objects.filter(recipe=recipe).delete()

    def progress(self, recipe: Recipe) -> Progress:
        progress, servers, row = progress_of(recipe), servers_named(recipe), _row(recipe)
        rejected = rejections_by_reason(recipe)
        # What was checked, but for proofs that do not hold; none of it once the sum is deleted.
        counted = max(0, progress.summed - rejected.get(INVALID_PROOF, 0))
        leader = ServerProgress(name="Leader", counted=counted, public_rejections=rejected)
        helper = ServerProgress(
            name="Helper",
            url=servers.helper_url,
            counted=None if row is None else row.reports,
            trouble=None if row is None else _trouble(row),
            verification_key=servers.helper_verification_key,
        )
        return Progress(progress.received, progress.waiting, (leader, helper))

    def partner_must_hear(self, recipe: Recipe) -> bool:
        return JointSum.objects.filter(recipe=recipe, is_deleted_there=False).exists()

    @staticmethod
    def _accepted(recipe: Recipe) -> int | None:
        """How many reports the list will have; None if some are still to be checked, or they are too few."""
        found = sum_of(recipe, least=recipe.cohort_size)
        return found.total[0] if found is not None and found.total[0] >= recipe.cohort_size else None


def _row(recipe: Recipe) -> JointSum | None:
    return JointSum.objects.filter(recipe=recipe).first()


def _trouble(row: JointSum) -> Trouble | None:
    if row.failing_since is None:
        return None
    return Trouble(since=row.failing_since, waiting=1, next_attempt=row.send_after, error=row.last_error)

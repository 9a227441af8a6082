"""From sub-aggregates to the one result of a recipe."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import structlog
from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction

from ledger.operations import spending_return
from panprivacy.accounting.rate_validation import RateCheck
from panprivacy.formats.rounded_counts import rounding_step
from panprivacy.protocols.signed_count import ReleasedCount
from recipes.errors import RecipeStateError
from recipes.log_entries import recipe_entry_append
from recipes.models import Recipe
from recipes.selectors import guarantees_of
from recipes.steps import step_end
from results.actions import RESULT_RELEASED, RESULT_WITHHELD
from results.documents import SOFTWARE, result_sign
from results.excerpt import release_excerpt
from results.models import Release, SimulatedTruth
from results.outcomes import Outcome, Progress, Refused, TooFew
from results.progress import progress_text
from results.rates import check_of, count_is_missing, is_held, result_passes, told_of_check
from results.reasons import require_reason
from results.servers import CountDisputedError, ServerShown, servers_of, signatures_of
from results.trust_models import collection_model_of
from storage import clock
from storage.erasure import log_truncate_on_commit

Cause = Release.Cause

logger = structlog.get_logger(__name__)

REASON_LENGTH = 300


@dataclass(frozen=True)
class GivenUp:
    """An authorized user ended the waiting for a result; `reason` is a clause."""

    reason: str


def result_release(*, recipe: Recipe) -> Release | None:
    """Release the result of a closed recipe, or withhold it below the cohort size.

    Either way this is the end: sums and private keys are deleted in the same transaction, and reports in it
    or directly after it.

    Returns:
        None while the recipe is open, reports of it wait to be summed, the number of its tokens is not
        known, or its result is held (`results.rates`).
    """
    model = collection_model_of(recipe)
    # Checked before locking: usually there is nothing to do.
    if recipe.status != Recipe.Status.CLOSED or not model.is_settled(recipe):
        return None
    if is_held(recipe):
        return None
    model.draw(recipe)
    with transaction.atomic():
        recipe = Recipe.objects.select_for_update().get(pk=recipe.pk)
        if Release.objects.filter(recipe=recipe).exists():
            return None
        outcome = model.outcome(recipe)
        if outcome is None or count_is_missing(recipe, outcome):
            return None
        check = check_of(recipe, outcome)
        return _conclude(recipe, outcome, actor=None, check=check) if result_passes(recipe, check) else None


@transaction.atomic
def result_withhold(*, recipe: Recipe, reason: str, actor: AbstractBaseUser | None) -> Release:
    """Withhold the result of a closed recipe for good, e.g. because its helper is unreachable or it takes too
    long.

    All or nothing: there is no way to leave out some reports.

    Args:
        reason: why, as a clause; it is public.

    Raises:
        FieldError: the reason does not have 1 to 200 printable characters.
        RecipeStateError: the recipe is not closed, or its result is there.
    """
    require_reason(reason)
    recipe = Recipe.objects.select_for_update().get(pk=recipe.pk)
    if recipe.status != Recipe.Status.CLOSED:
        raise RecipeStateError("only the result of a closed recipe can be withheld; close it first")
    if Release.objects.filter(recipe=recipe).exists():
        raise RecipeStateError("the result is released or withheld already")
    return _conclude(recipe, GivenUp(reason), actor=actor)


def _conclude(
    recipe: Recipe,
    outcome: Outcome | GivenUp,
    *,
    actor: AbstractBaseUser | None,
    check: RateCheck | None = None,
) -> Release:
    """Store the release, delete what it was made of, and add an entry to the log. The recipe's row
    is locked. PostgreSQL deletes reports directly after the commit."""
    model = collection_model_of(recipe)
    # For a recipe that cannot be read, nothing is known of its servers.
    progress = Progress(0, 0, ()) if recipe.unreadable else model.progress(recipe)
    release = _release(recipe, outcome, progress)
    if release.outcome == Release.Outcome.RELEASED:
        release.admission = told_of_check(recipe, check)
    release.save(force_insert=True)
    result = result_sign(release=release)
    released = release.outcome == Release.Outcome.RELEASED
    model.forget(recipe, "the result was released" if released else release.reason)
    # After what `forget` locks: those who mark a step lock it last, too.
    step_end(recipe=recipe)
    log_truncate_on_commit()
    # Below the cohort size, nothing that depends on what devices sent is published.
    returned = None
    # If enough came, "too few were valid" is one more fact that was disclosed.
    if isinstance(outcome, TooFew) and outcome.received < recipe.cohort_size:
        returned = spending_return(recipe=str(recipe.identifier))
    withheld = {"reason": release.reason, "spending_returned": returned is not None}
    recipe_entry_append(
        recipe=recipe,
        action=RESULT_RELEASED if released else RESULT_WITHHELD,
        actor=actor,
        details={**(_released_details(recipe, release) if released else withheld), "result": result},
    )
    return release


def _released_details(recipe: Recipe, release: Release) -> dict[str, Any]:
    """What the log records of a result besides its hash: how many reported, and what the recipe promised."""
    document = recipe.published.document
    names = ("epsilon", "delta", "cohort_size")
    reports = {} if release.reports is None else {"reports": release.reports}
    return reports | {name: document[name] for name in names if name in document}


def _release(recipe: Recipe, outcome: Outcome | GivenUp, progress: Progress) -> Release:
    """The release in its final form, not yet stored."""
    servers = servers_of(progress)
    release = Release(
        recipe=recipe,
        outcome=Release.Outcome.WITHHELD,
        guarantees=guarantees_of(recipe),
        software=SOFTWARE,
        released_at=clock.database_now(),
    )
    # Below the cohort size no exact number is disclosed.
    _tell(release, [server.rounded(recipe.cohort_size) for server in servers])
    if isinstance(outcome, Refused | GivenUp):
        release.cause = Cause.REFUSED if isinstance(outcome, Refused) else Cause.GIVEN_UP
        release.reason = outcome.reason[:REASON_LENGTH]
        return release
    if isinstance(outcome, TooFew):
        cohort_size = recipe.cohort_size
        release.cause = Cause.TOO_FEW
        model = collection_model_of(recipe)
        noisy = recipe.published.calibrated_statistic.noisy_count
        fewer, than = ("too few", "for") if noisy else ("fewer", "than")
        release.reason = f"{fewer} {model.cohort_of} {than} the cohort size of {cohort_size:,}"
        if rounding_step(cohort_size) < cohort_size:  # otherwise the step is no finer
            so_far = progress_text(min(outcome.received, cohort_size - 1), cohort_size)
            release.reason += f" ({so_far})"
        return release
    if outcome.reports is not None:
        count = ReleasedCount(str(recipe.identifier), outcome.reports)
        try:
            signatures = signatures_of(count, progress.servers)
        except CountDisputedError as error:
            logger.warning("count_disputed", recipe=recipe.identifier, error=str(error))
            release.cause, release.reason = Cause.REFUSED, str(error)
            return release
        signed = zip(servers, signatures, strict=True)
        servers = [replace(server, signature=signature) for server, signature in signed]
    try:
        estimate, segments = outcome.estimate(recipe.published), outcome.segments(recipe.published)
    except ArithmeticError:
        # Parameters at the edge of what floating point can hold. Without this end the key would stay.
        logger.exception("estimate_failed", recipe=recipe.identifier)
        release.cause = Cause.INCOMPUTABLE
        release.reason = "the estimate cannot be computed with these parameters"
        return release
    release.outcome = Release.Outcome.RELEASED
    release.reports = outcome.reports
    _tell(release, servers)
    release.values = list(estimate.values)
    release.standard_errors = list(estimate.standard_errors)
    release.standard_error_note = estimate.standard_error_note
    release.projection = list(estimate.projection)
    if estimate.confidence is not None:
        release.error_bounds, release.confidence = list(estimate.error_bounds), estimate.confidence
    release.intervals = [asdict(interval) for interval in estimate.stated_intervals()]
    if estimate.details:
        release.details = dict(estimate.details)
    if segments:
        release.segments = [segment.as_dict() for segment in segments]
    release.excerpt = release_excerpt(release)
    return release


def _tell(release: Release, servers: Sequence[ServerShown]) -> None:
    release.servers = [server.as_dict() for server in servers]
    release.rejected = dict(sum((Counter(server.rejected) for server in servers), Counter()))


def truth_record(
    *,
    recipe: Recipe,
    values: Sequence[float],
    devices: int,
    sampled: int,
    segments: Sequence[Mapping[str, Any]] = (),
) -> SimulatedTruth:
    """Store the exact answer of a simulation with its recipe.

    Args:
        segments: of each, `label`, `devices` and `answers`; none if the recipe asks by none.

    Raises:
        RecipeStateError: the recipe is not a simulation.
    """
    if not recipe.simulation:
        raise RecipeStateError("only a simulation has a known truth")
    return SimulatedTruth.objects.create(
        recipe=recipe,
        values=list(values),
        devices=devices,
        sampled=sampled,
        segments=[dict(segment) for segment in segments] or None,
    )

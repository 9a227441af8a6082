"""From sub-aggregates to the one result of a recipe."""

import uuid
from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import partial

import structlog
from django.db import transaction
from django.utils import timezone

from aggregation.models import Chunk, SubAggregate
from aggregation.operations import chunks_plan, chunks_resend
from aggregation.selectors import Progress, progress_of
from aggregation.tasks import process_chunk
from audit.models import Action
from audit.operations import entry_append
from ledger.operations import spending_return
from recipes.models import Recipe, RecipeKey
from recipes.operations import RecipeStateError, recipe_close
from recipes.selectors import guarantees_of
from releases.models import Release, SimulatedTruth
from releases.progress import coarse_rejections, progress_text
from reports.models import ReportNonce, StoredReports
from reports.selectors import public_rejections

logger = structlog.get_logger(__name__)

SIMULATION_LIFETIME = timedelta(days=1)
"""After which a simulation that nobody closed is taken for abandoned."""

SOFTWARE = "panapp 0.1.0"
"""Named in every release: what computed it."""


def collections_advance() -> None:
    """Bring every unfinished recipe one step on: close, plan, send, release.

    Looks only at what the database says, so it can be run at any time, by anyone, twice.
    """
    unfinished = Recipe.objects.exclude(status=Recipe.Status.DRAFT).filter(release=None).order_by("pk")
    for recipe in unfinished:
        try:
            _advance(recipe)
        except Exception:
            # One recipe that cannot be advanced must not hold up all others.
            logger.exception("recipe_not_advanced", recipe=recipe.identifier)
    _send(chunks_resend())


def result_release(*, recipe: Recipe) -> Release | None:
    """Release the result of a closed recipe, or withhold it below the cohort size.

    Either way this is the end: reports, nonces, the sum and the private key are deleted in
    the same transaction.

    Returns:
        None while the recipe is open or reports of it wait to be summed.
    """
    # Looked at without a lock first: at most ticks there is nothing to do.
    if recipe.status != Recipe.Status.CLOSED or Chunk.objects.filter(recipe=recipe).exists():
        return None
    with transaction.atomic():
        recipe = Recipe.objects.select_for_update().get(pk=recipe.pk)
        progress = progress_of(recipe)
        # A closed recipe that cannot reach its cohort size has reports that are never planned.
        to_plan = progress.unplanned > 0 and progress.received >= recipe.cohort_size
        finished = Release.objects.filter(recipe=recipe).exists()
        if finished or to_plan or Chunk.objects.filter(recipe=recipe).exists():
            return None
        release = _outcome(recipe, progress)
        release.save(force_insert=True)
        for model in (StoredReports, ReportNonce, SubAggregate, RecipeKey):
            model.objects.filter(recipe=recipe).delete()
        released = release.outcome == Release.Outcome.RELEASED
        # Below the cohort size, nothing that depends on what devices sent leaves the house.
        returned = None
        if progress.summed < recipe.cohort_size:
            returned = spending_return(recipe=str(recipe.identifier))
        withheld = {"reason": release.reason, "spending_returned": returned is not None}
        entry_append(
            action=Action.RESULT_RELEASED if released else Action.RESULT_WITHHELD,
            subject=str(recipe.identifier),
            actor=None,
            details={"reports": release.reports} if released else withheld,
        )
        return release


def _outcome(recipe: Recipe, progress: Progress) -> Release:
    """The release as it will stand, not yet stored."""
    mechanism = recipe.published.mechanism
    cohort_size = recipe.cohort_size
    release = Release(
        recipe=recipe,
        outcome=Release.Outcome.WITHHELD,
        guarantees=guarantees_of(recipe),
        software=SOFTWARE,
        released_at=timezone.now(),
        # Below the cohort size nothing is told exactly, not even how many reports were bad.
        rejected=coarse_rejections(public_rejections(recipe), cohort_size),
    )
    if progress.summed < cohort_size:
        so_far = progress_text(min(progress.received, cohort_size - 1), cohort_size)
        release.reason = f"fewer valid reports than the cohort size of {cohort_size:,} ({so_far})"
        return release
    try:
        total = SubAggregate.objects.get(recipe=recipe).total
        estimate = mechanism.estimate(total, progress.summed)
    except ArithmeticError:
        # Parameters at the edge of what floating point can hold. Without this end the key would stay.
        logger.exception("estimate_failed", recipe=recipe.identifier)
        release.reason = "the estimate cannot be computed with these parameters"
        return release
    release.outcome = Release.Outcome.RELEASED
    release.reports = progress.summed
    release.rejected = public_rejections(recipe)
    release.values = list(estimate.values)
    release.standard_errors = list(estimate.standard_errors)
    release.standard_error_note = estimate.standard_error_note
    release.projection = list(estimate.projection)
    return release


def truth_record(*, recipe: Recipe, values: Sequence[float], devices: int, sampled: int) -> SimulatedTruth:
    """Store the exact answer of a simulation beside its recipe.

    Raises:
        RecipeStateError: the recipe is not a simulation.
    """
    if not recipe.simulation:
        raise RecipeStateError("only a simulation has a known truth")
    return SimulatedTruth.objects.create(recipe=recipe, values=list(values), devices=devices, sampled=sampled)


def _advance(recipe: Recipe) -> None:
    if recipe.status == Recipe.Status.PUBLISHED and _is_overdue(recipe, timezone.now()):
        _close_if_open(recipe)
    _send(chunks_plan(recipe=recipe))
    result_release(recipe=recipe)


def _is_overdue(recipe: Recipe, now: datetime) -> bool:
    if recipe.closes_at is None or recipe.published_at is None:
        return False
    if recipe.simulation:
        # Not bound by its times; but one whose command died must not stay open for good.
        return recipe.published_at + SIMULATION_LIFETIME <= now
    return recipe.closes_at <= now


def _close_if_open(recipe: Recipe) -> None:
    try:
        recipe_close(recipe=recipe, actor=None)
    except RecipeStateError:
        # Somebody closed it in the meantime, which is all that was wanted.
        recipe.refresh_from_db()


def _send(chunks: Sequence[uuid.UUID]) -> None:
    for chunk in chunks:
        transaction.on_commit(partial(process_chunk.delay, str(chunk)))

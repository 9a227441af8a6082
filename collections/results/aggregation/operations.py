"""From stored reports to one sum, exactly once whatever crashes.

The database decides: a chunk's reports, its row and its sub-aggregate change together in
one transaction. Tasks carry nothing but a chunk's identifier and may be lost, doubled or
killed at any moment.

All workers serve one queue, first come, first served. It stays fair because no recipe has more than
`RECIPE_CHUNKS` of its chunks there or in workers' hands: the others wait in the database.
"""

import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

import structlog
from django.conf import settings
from django.db import transaction
from django.db.models import F, Max, Q, Sum

from panprivacy.recipe.report_shards.segments import ChangedError
from panprivacy.recipe.statistic import statistic_as
from panprivacy.statistics.interface import ReportStatistic
from recipes.models import Recipe, RecipeKey
from recipes.operations import recipe_private_key
from recipes.steps import step_due
from reports.operations import report_store_of
from reports.store import MINIMUM_REPORTS, ReportStore
from results.aggregation.models import Chunk, SubAggregate
from storage import clock
from storage.sealing import secrets_delete
from storage.waits import wait_after

logger = structlog.get_logger(__name__)

LONGEST_WAIT = timedelta(minutes=10)
"""Between two attempts at a chunk that keeps failing."""


@dataclass(frozen=True)
class Progress:
    """How many reports of a recipe are in each state.

    Attributes:
        summed: reports in the sum.
        planned: reports that a chunk will take in.
        unplanned: reports that no chunk takes in yet.
        attempts: of the chunk that was tried most often; more than 3 means trouble.
    """

    summed: int
    planned: int
    unplanned: int
    attempts: int

    @property
    def waiting(self) -> int:
        """Reports stored, not yet decrypted."""
        return self.planned + self.unplanned

    @property
    def received(self) -> int:
        """All reports that were stored."""
        return self.summed + self.waiting


@dataclass(frozen=True)
class ReportSum:
    """The sum over the reports of a recipe.

    Attributes:
        total: vector sum of their contributions.
        reports: how many are in it.
        received: how many were stored.
    """

    total: tuple[int, ...]
    reports: int
    received: int


def chunks_plan(*, recipe: Recipe, least: int | None = None) -> list[uuid.UUID]:
    """Assign stored reports that wait to chunks. May be called at any time, twice.

    While the recipe is open, fewer than `MINIMUM_REPORTS` wait for more.

    Args:
        least: number of reports below which a closed recipe is not decrypted at all; its cohort size by
            default.

    Returns:
        The new chunks; `chunks_take` decides when to send their tasks.
    """
    least = recipe.cohort_size if least is None else least
    # Checked before locking: usually there is nothing to plan.
    if not _worth_planning(report_store_of(recipe), least):
        return []
    with transaction.atomic():
        # One planner at a time for a recipe. The lock lets reports come in; closing waits for it.
        recipe = Recipe.objects.select_for_update(no_key=True).get(pk=recipe.pk)
        planned = report_store_of(recipe).plan(least)
        if planned:
            length = statistic_as(recipe.published, ReportStatistic).contribution_length
            SubAggregate.objects.get_or_create(recipe=recipe, defaults={"total": [0] * length})
            Chunk.objects.bulk_create(Chunk.of(recipe, work) for work in planned)
        return [work.id for work in planned]


def _worth_planning(store: ReportStore, least: int) -> bool:
    waiting = store.to_plan()
    if store.recipe.status == Recipe.Status.CLOSED:
        return waiting > 0 and progress_of(store.recipe).received >= least
    return waiting >= max(1, min(MINIMUM_REPORTS, least))


def chunks_take(*, recipe: Recipe) -> list[uuid.UUID]:
    """Chunks of the recipe whose tasks are to be sent now, marked as sent: those that were never sent, and
    those whose task seems lost, which wait longer after every attempt.

    Returns:
        Enough that `RECIPE_CHUNKS` of the recipe are under way. The caller sends their tasks after commit.
    """
    now = clock.database_now()
    chunks = Chunk.objects.filter(recipe=recipe)
    due = chunks.filter(Q(send_after=None) | Q(send_after__lte=now))
    # Checked before locking: usually there is none.
    if not due.exists():
        return []
    with transaction.atomic():
        # One at a time for a recipe: two would use the same free places. Reports come in meanwhile.
        Recipe.objects.select_for_update(no_key=True).get(pk=recipe.pk)
        free = max(0, settings.RECIPE_CHUNKS - chunks.filter(send_after__gt=now).count())
        stale = timedelta(seconds=settings.CHUNK_STALE_SECONDS)
        # Lost ones first.
        taken = list(due.select_for_update().order_by(F("send_after").asc(nulls_last=True))[:free])
        for chunk in taken:
            if chunk.send_after is not None:
                chunk.attempts += 1
                logger.warning("chunk_sent_again", chunk=str(chunk.pk), attempts=chunk.attempts)
            chunk.send_after = now + wait_after(chunk.attempts, first=stale, longest=LONGEST_WAIT)
        Chunk.objects.bulk_update(taken, ("attempts", "send_after"))
    return [chunk.pk for chunk in taken]


def chunk_process(*, chunk: uuid.UUID) -> None:
    """Have the store of a recipe's reports do the work of a chunk; add what it found to the recipe's sum.

    The work is done outside the transaction: workers do not wait for each other. Only the first to finish a
    chunk finds its row; another's work is thrown away. If reports are lost, so is the whole recipe's sum.

    Raises:
        ReportsMissingError: nothing was added, nothing deleted.
        StoreDownError: the same.
    """
    row = Chunk.objects.select_related("recipe").filter(pk=chunk).first()
    if row is None:
        return
    store = report_store_of(row.recipe)
    try:
        # Unsealed anew for every chunk: a worker's memory must not outlive the key's deletion.
        taken = store.take(row.work, partial(recipe_private_key, recipe=row.recipe))
    except ChangedError as error:
        _give_up(row, store, str(error))
        return
    if taken is None:
        return
    with _chunk_finished(row) as is_ours:
        if is_ours:
            if taken.total:
                _sum_add(row.recipe, taken.total, taken.reports)
            Chunk.objects.bulk_create(Chunk.of(row.recipe, work) for work in taken.end())


def _give_up(chunk: Chunk, store: ReportStore, reason: str) -> None:
    with _chunk_finished(chunk) as is_ours:
        # Otherwise another worker was faster, and has deleted what it did not need any more.
        if is_ours:
            logger.error("reports_lost", recipe=chunk.recipe.identifier, reason=reason)
            store.lose(reason)
            Chunk.objects.filter(recipe=chunk.recipe).delete()


@contextmanager
def _chunk_finished(chunk: Chunk) -> Iterator[bool]:
    """A transaction that deletes a chunk's row. Yields whether the row still exists; if not, nothing may be
    done: another worker has finished it, or there is a result."""
    with transaction.atomic():
        # The first lock, as in every other operation: the result may be withheld at any moment, and that
        # deletes the chunk.
        Recipe.objects.select_for_update(no_key=True).get(pk=chunk.recipe_id)
        is_there = Chunk.objects.select_for_update().filter(pk=chunk.pk).exists()
        yield is_there
        if is_there:
            Chunk.objects.filter(pk=chunk.pk).delete()
            if not Chunk.objects.filter(recipe=chunk.recipe_id).exists():
                step_due(recipe=chunk.recipe_id)


def _sum_add(recipe: Recipe, total: Sequence[int], reports: int) -> None:
    so_far = SubAggregate.objects.select_for_update().get(recipe=recipe)
    so_far.total = [before + more for before, more in zip(so_far.total, total, strict=True)]
    so_far.reports += reports
    so_far.save()


def progress_of(recipe: Recipe) -> Progress:
    """The exact progress; public pages show it in coarse steps only."""
    so_far = SubAggregate.objects.filter(recipe=recipe).first() or SubAggregate(recipe=recipe)
    chunks = Chunk.objects.filter(recipe=recipe).aggregate(most=Max("attempts"), reports=Sum("count"))
    unplanned = report_store_of(recipe).unplanned()
    return Progress(so_far.reports, chunks["reports"] or 0, unplanned, chunks["most"] or 0)


def sum_is_settled(recipe: Recipe) -> bool:
    """Whether no worker has anything to take in: a cheap check without locks."""
    return not Chunk.objects.filter(recipe=recipe).exists()


def sum_of(recipe: Recipe, *, least: int) -> ReportSum | None:
    """The sum of a closed recipe; None while reports wait for workers.

    Args:
        least: as in `sum_advance`; with fewer reports there is nothing to wait for.
    """
    progress = progress_of(recipe)
    to_plan = progress.unplanned > 0 and progress.received >= least
    if to_plan or not sum_is_settled(recipe):
        return None
    counted = SubAggregate.objects.filter(recipe=recipe).first()
    total = (
        counted.total
        if counted
        else [0] * statistic_as(recipe.published, ReportStatistic).contribution_length
    )
    return ReportSum(tuple(total), progress.summed, progress.received)


def sum_forget(*, recipe: Recipe) -> None:
    """Delete sum and private key in the transaction that stores the release, and the reports with it or, on
    PostgreSQL, directly after its commit."""
    # In the order in which a worker that finishes a chunk locks them.
    for model in (Chunk, SubAggregate):
        model.objects.filter(recipe=recipe).delete()
    # Before the reports: the key is erased first after the commit.
    secrets_delete(RecipeKey.objects.filter(recipe=recipe), "sealed")
    report_store_of(recipe).end()

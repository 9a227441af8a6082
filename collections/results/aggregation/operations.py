"""From stored reports to sub-aggregates, exactly once whatever crashes.

The database decides: a chunk's reports, its row and its sub-aggregate change together in
one transaction. Tasks carry nothing but a chunk's identifier and may be lost, doubled or
killed at any moment.

All workers serve one queue, first come, first served. It stays fair because no recipe has more than
`RECIPE_CHUNKS` of its chunks there or in workers' hands: the others wait in the database.
"""

import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta

import structlog
from django.conf import settings
from django.db import transaction
from django.db.models import F, Q

from panprivacy.encryption.interface import PrivateKey
from panprivacy.recipe.document import PublishedRecipe
from panprivacy.recipe.report_shards.shard_sum import RunningSum
from panprivacy.recipe.statistic import statistic_as
from panprivacy.statistics.interface import ReportStatistic
from recipes.models import Recipe, RecipeKey
from recipes.operations import recipe_private_key
from recipes.steps import step_due
from reports.arrivals import MINIMUM_REPORTS
from reports.chunking import reports_per_chunk
from reports.models import StoredReports
from results.aggregation.models import Chunk, SubAggregate
from results.aggregation.selectors import progress_of
from storage import clock
from storage.waits import wait_after

logger = structlog.get_logger(__name__)

LONGEST_WAIT = timedelta(minutes=10)
"""Between two attempts at a chunk that keeps failing."""


class ReportsMissingError(RuntimeError):
    """Fewer reports are stored than were put into a chunk. Nothing of it is added up: the remaining reports
    would be taken for all.

    It happens after the database is restored from a dump that began before a result was released or withheld,
    and ended after. That empties the table of reports. PostgreSQL shows an emptied table as empty to every
    transaction, even to a dump that had begun already: the dump has the chunk, and not its reports.
    """

    def __init__(self, *, found: int, expected: int) -> None:
        super().__init__(f"{found:,} of {expected:,} reports of a chunk are stored")


def chunks_plan(*, recipe: Recipe, least: int | None = None) -> list[uuid.UUID]:
    """Assign every stored report that waits to a chunk.

    While the recipe is open, fewer than `MINIMUM_REPORTS` wait for more.

    Args:
        least: number of reports below which a closed recipe is not decrypted at all; its cohort size by
            default.

    Returns:
        The new chunks; `chunks_take` decides when to send their tasks.
    """
    # Checked before locking: usually there is nothing to plan.
    least = recipe.cohort_size if least is None else least
    if not _worth_planning(recipe, least):
        return []
    with transaction.atomic():
        # One planner at a time for a recipe. The lock lets reports come in; closing waits for it.
        recipe = Recipe.objects.select_for_update(no_key=True).get(pk=recipe.pk)
        waiting = StoredReports.objects.filter(recipe=recipe, chunk=None).order_by("pk")
        groups = _groups(list(waiting.values_list("pk", "count")), reports_per_chunk(recipe.published))
        if not groups:
            return []
        sum_begin(recipe=recipe)
        chunks = [Chunk(recipe=recipe, count=count) for _, count in groups]
        Chunk.objects.bulk_create(chunks)
        for chunk, (assigned, _) in zip(chunks, groups, strict=True):
            StoredReports.objects.filter(recipe=recipe, pk__in=assigned).update(chunk=chunk.pk)
        return [chunk.pk for chunk in chunks]


def sum_begin(*, recipe: Recipe) -> None:
    """Have a row to which chunks are added."""
    length = statistic_as(recipe.published, ReportStatistic).contribution_length
    SubAggregate.objects.get_or_create(recipe=recipe, defaults={"total": [0] * length})


def _worth_planning(recipe: Recipe, least: int) -> bool:
    progress = progress_of(recipe)
    if recipe.status == Recipe.Status.CLOSED:
        return progress.unplanned > 0 and progress.received >= least
    return progress.unplanned >= min(MINIMUM_REPORTS, least)


def _groups(rows: Sequence[tuple[int, int]], most: int) -> list[tuple[list[int], int]]:
    """Rows (key, number of reports) in their order, put together up to `most` reports each."""
    groups: list[tuple[list[int], int]] = []
    members: list[int] = []
    size = 0
    for key, count in rows:
        if members and size + count > most:
            groups.append((members, size))
            members, size = [], 0
        members.append(key)
        size += count
    return [*groups, (members, size)] if members else groups


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
        room = max(0, settings.RECIPE_CHUNKS - chunks.filter(send_after__gt=now).count())
        stale = timedelta(seconds=settings.CHUNK_STALE_SECONDS)
        # Lost ones first.
        taken = list(due.select_for_update().order_by(F("send_after").asc(nulls_last=True))[:room])
        for chunk in taken:
            if chunk.send_after is not None:
                chunk.attempts += 1
                logger.warning("chunk_sent_again", chunk=str(chunk.pk), attempts=chunk.attempts)
            chunk.send_after = now + wait_after(chunk.attempts, first=stale, longest=LONGEST_WAIT)
        Chunk.objects.bulk_update(taken, ("attempts", "send_after"))
    return [chunk.pk for chunk in taken]


def chunk_process(*, chunk: uuid.UUID) -> None:
    """Decrypt the reports of a chunk; add them to the recipe's sum; delete them.

    An invalid report is replaced by a random valid one, and counts. An attacker with a copy of a device's
    state can make reports from it whose validity reveals what is in it. So nothing may reveal whether a
    report was valid.

    Decryption runs outside the transaction: workers do not wait for each other. Only the
    first to finish a chunk finds its row; another's work is thrown away.

    Raises:
        ReportsMissingError: nothing was added, nothing deleted.
    """
    row = Chunk.objects.select_related("recipe").filter(pk=chunk).first()
    if row is None:
        return
    stored = StoredReports.objects.filter(recipe=row.recipe_id, chunk=chunk).order_by("pk")
    counts, payloads = [], []
    for count, payload in stored.values_list("count", "payload"):
        counts.append(count)
        payloads.append(bytes(payload))
    try:
        # Unsealed anew for every chunk: a worker's memory must not outlive the key's deletion.
        key = recipe_private_key(recipe=row.recipe)
    except RecipeKey.DoesNotExist:
        # Another worker has finished this chunk, the last one, and the result is out.
        return
    added = _decrypt(row.recipe.published, key, payloads, row.pk.bytes + bytes(row.seed))
    with chunk_finished(row) as is_ours:
        if is_ours:
            if sum(counts) != row.count:
                raise ReportsMissingError(found=sum(counts), expected=row.count)
            sum_add(recipe=row.recipe, total=added, reports=row.count)
            stored.delete()


@contextmanager
def chunk_finished(chunk: Chunk) -> Iterator[bool]:
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


def sum_add(*, recipe: Recipe, total: Sequence[int], reports: int) -> None:
    """Add to a recipe's sum, in the transaction that deletes what was added."""
    so_far = SubAggregate.objects.select_for_update().get(recipe=recipe)
    so_far.total = [before + more for before, more in zip(so_far.total, total, strict=True)]
    so_far.reports += reports
    so_far.save()


def _decrypt(
    published: PublishedRecipe, key: PrivateKey, payloads: Sequence[bytes], seed: bytes
) -> list[int]:
    counted = RunningSum(published, key, seed)
    for payload in payloads:
        for start in range(0, len(payload), counted.report_bytes):
            counted.add(payload[start : start + counted.report_bytes])
    return counted.total

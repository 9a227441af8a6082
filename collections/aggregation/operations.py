"""From stored reports to sub-aggregates, exactly once whatever crashes.

The database decides: a chunk's reports, its row and its sub-aggregate change together in
one transaction. Tasks carry nothing but a chunk's identifier and may be lost, doubled or
killed at any moment.
"""

import uuid
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

import structlog
from django.conf import settings
from django.db import transaction
from django.utils import timezone

from aggregation.models import Chunk, SubAggregate
from aggregation.selectors import progress_of
from panprivacy.encryption.interface import PrivateKey, ValueOutOfRangeError
from panprivacy.recipe import PublishedRecipe
from panprivacy.recipe_statistic import report_statistic
from panprivacy.statistic import InvalidReportError
from recipes.models import Recipe, RecipeKey
from recipes.operations import recipe_private_key
from reports.chunking import reports_per_chunk
from reports.models import StoredReports
from reports.operations import rejections_count

logger = structlog.get_logger(__name__)

MINIMUM_REPORTS = 500
"""Reports of an open recipe that are taken in together, at least (or the cohort size, if smaller)."""

LONGEST_WAIT = timedelta(minutes=10)
"""Between two attempts at a chunk that keeps failing."""


@dataclass(frozen=True)
class _Sum:
    """What decrypting a chunk yields: `total` over `reports` valid ones, and why the others are not."""

    total: tuple[int, ...]
    reports: int
    rejected: Counter[str]


def chunks_plan(*, recipe: Recipe, least: int | None = None) -> list[uuid.UUID]:
    """Assign every stored report that waits to a chunk.

    While the recipe is open, fewer than `MINIMUM_REPORTS` wait for more.

    Args:
        least: number of reports below which a closed recipe is not decrypted at all; its cohort size by
            default.

    Returns:
        The new chunks, whose tasks the caller sends after commit.
    """
    # Looked at without a lock first: at most ticks there is nothing to plan.
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
        length = report_statistic(recipe.published).contribution_length
        SubAggregate.objects.get_or_create(recipe=recipe, defaults={"total": [0] * length})
        stale_at = timezone.now() + timedelta(seconds=settings.CHUNK_STALE_SECONDS)
        chunks = [Chunk(recipe=recipe, count=count, send_after=stale_at) for _, count in groups]
        Chunk.objects.bulk_create(chunks)
        for chunk, (assigned, _) in zip(chunks, groups, strict=True):
            StoredReports.objects.filter(pk__in=assigned).update(chunk=chunk.pk)
        return [chunk.pk for chunk in chunks]


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


def chunks_resend(*, recipe: Recipe) -> list[uuid.UUID]:
    """Chunks of the recipe whose task seems lost, marked as sent again; waits grow with every attempt."""
    now = timezone.now()
    lost = Chunk.objects.filter(recipe=recipe, send_after__lte=now)
    # Looked at without a lock first: at most ticks there is none.
    if not lost.exists():
        return []
    with transaction.atomic():
        stale = list(lost.select_for_update(skip_locked=True)[:1_000])
        for chunk in stale:
            chunk.attempts += 1
            wait = timedelta(seconds=settings.CHUNK_STALE_SECONDS * 2 ** min(chunk.attempts, 10))
            chunk.send_after = now + min(wait, LONGEST_WAIT)
            logger.warning("chunk_sent_again", chunk=str(chunk.pk), attempts=chunk.attempts)
        Chunk.objects.bulk_update(stale, ("attempts", "send_after"))
    return [chunk.pk for chunk in stale]


def chunk_process(*, chunk: uuid.UUID) -> None:
    """Decrypt and validate the reports of a chunk; add them to the recipe's sum; delete them.

    Decryption runs outside the transaction: workers do not wait for each other. Only the
    first to finish a chunk finds its row; another's work is thrown away.
    """
    row = Chunk.objects.select_related("recipe").filter(pk=chunk).first()
    if row is None:
        return
    payloads = [bytes(p) for p in StoredReports.objects.filter(chunk=chunk).values_list("payload", flat=True)]
    try:
        # Unsealed anew for every chunk: a worker's memory must not outlive the key's deletion.
        key = recipe_private_key(recipe=row.recipe)
    except RecipeKey.DoesNotExist:
        # Another worker has finished this chunk, the last one, and the result is out.
        return
    result = _decrypt(row.recipe.published, key, payloads)
    with transaction.atomic():
        if Chunk.objects.select_for_update().filter(pk=chunk).first() is None:
            return
        so_far = SubAggregate.objects.select_for_update().get(recipe=row.recipe)
        so_far.total = [before + more for before, more in zip(so_far.total, result.total, strict=True)]
        so_far.reports += result.reports
        so_far.decrypted += row.count
        so_far.save()
        StoredReports.objects.filter(chunk=chunk).delete()
        Chunk.objects.filter(pk=chunk).delete()
        rejections_count(recipe=row.recipe, reasons=result.rejected)


def _decrypt(published: PublishedRecipe, key: PrivateKey, payloads: Sequence[bytes]) -> _Sum:
    mechanism = report_statistic(published)
    public_key = published.public_key
    size, per_report = public_key.ciphertext_bytes, mechanism.report_ciphertexts
    allowed = mechanism.allowed_values
    total = [0] * mechanism.contribution_length
    reports = 0
    rejected: Counter[str] = Counter()
    for payload in payloads:
        for start in range(0, len(payload), size * per_report):
            offsets = range(start, start + size * per_report, size)
            try:
                values = [key.decrypt(public_key.parse(payload[at : at + size]), allowed) for at in offsets]
                mechanism.add(total, values)
            except ValueOutOfRangeError:
                rejected["value_out_of_range"] += 1
            except InvalidReportError as error:
                rejected[error.reason] += 1
            else:
                reports += 1
    return _Sum(tuple(total), reports, rejected)

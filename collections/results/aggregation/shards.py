"""From segments in the object store to the sum of a closed recipe, in three steps of chunks.

1. Segments of some 64 MiB together are sorted by shard into one object (`segments_sort`).
2. When all are, a manifest is sealed: the hashes of everything (`manifest_seal`). Its own message is logged.
3. Each shard is read from all of them, deduplicated, decrypted and added up (`shard_process`).

As with reports in the database, a chunk's row and what came of it change together, so that each counts once.
An object that was changed or is missing ends it all: the result is withheld.
"""

import hashlib
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache, partial, wraps

import structlog
from django.db import transaction
from django.db.models import QuerySet

from log.audit.operations import entry_append
from panprivacy.recipe.document import PublishedRecipe
from panprivacy.recipe.report_shards import manifest as manifests
from panprivacy.recipe.report_shards.manifest import Manifest, SortedSegment, shard_slices
from panprivacy.recipe.report_shards.segments import ChangedError, content_hash
from panprivacy.recipe.report_shards.shard_sum import record_bytes_of, shard_sum
from panprivacy.recipe.report_shards.sorted_segment import MOST_SHARDS, sorted_segment
from panprivacy.recipe.statistic import statistic_as
from panprivacy.statistics.interface import ReportStatistic
from recipes.models import Recipe, RecipeKey
from recipes.operations import recipe_private_key
from reports.models import ReportSegment, SegmentedRecipe
from reports.object_store import (
    Part,
    StoreDownError,
    object_put,
    object_size,
    object_written,
    objects_delete,
    part_get,
)
from reports.operations import rejections_count
from reports.segments import (
    DUPLICATE,
    SORTED,
    arrived_name,
    missing_is_lost,
    recipe_reader,
    segments_read,
)
from results.aggregation.actions import REPORTS_SEALED
from results.aggregation.models import Chunk, SortedReports
from results.aggregation.operations import ReportsMissingError, chunk_finished, sum_add, sum_begin
from storage.columns import optional_bytes, stored, total

logger = structlog.get_logger(__name__)

SORTED_BYTES = 64 * 1024 * 1024
"""Length of the records of one sorted segment, at most, unless a single one is longer: a worker needs three
times as much memory."""

SORTED_SEGMENTS = 16_384
"""Segments that are sorted into one, at most: each is a request."""

PLANNED_SEGMENTS = 200_000
"""Most rows that one run plans."""

MANIFEST_BYTES = 64 * 1024 * 1024
"""No manifest is longer: of 65,536 shards and 200,000 sorted segments it has some 50 MB."""

SHARD_SECONDS = 20.0
"""Time that a shard should take: well below the tasks' time limit."""

SHARD_REPORTS = 300_000
"""Reports of a shard, about: their keys are in memory."""


def shards_for(published: PublishedRecipe, reports: int) -> int:
    """The number of shards into which this number of reports is sorted: a power of two."""
    ciphertexts = statistic_as(published, ReportStatistic).report_ciphertexts
    by_time = SHARD_SECONDS / (ciphertexts * published.public_key.decryption_seconds)
    per_shard = max(1, min(SHARD_REPORTS, int(by_time)))
    least = -(-reports // per_shard)
    return min(MOST_SHARDS, 1 << max(0, least - 1).bit_length())


def shards_plan(*, recipe: Recipe, least: int) -> None:
    """Make chunks of what waits of a closed recipe. May be called at any time, twice.

    Args:
        least: number of reports below which nothing is done.
    """
    if recipe.status != Recipe.Status.CLOSED:
        return
    # Checked before locking: usually there is nothing to plan.
    if not (_waiting(recipe).exists() or _unsealed(recipe).exists()):
        return
    with transaction.atomic():
        Recipe.objects.select_for_update(no_key=True).get(pk=recipe.pk)
        row = SegmentedRecipe.objects.select_for_update().get(recipe=recipe)
        if row.lost or row.ended_at is not None:
            return
        if row.shards is None:
            # Counted once, because there may be millions of rows: no more arrive.
            received = total(_segments(recipe), "count")
            if received < least:
                return
            row.shards = shards_for(recipe.published, received)
            row.save(update_fields=["shards"])
            sum_begin(recipe=recipe)
        _plan_sorting(recipe)
        if not _segments(recipe).exists():
            _plan_sealing(recipe)


def _segments(recipe: Recipe) -> QuerySet[ReportSegment]:
    return ReportSegment.objects.filter(recipe=recipe)


def _waiting(recipe: Recipe) -> QuerySet[ReportSegment]:
    return _segments(recipe).filter(chunk=None).order_by("pk")


def _unsealed(recipe: Recipe) -> QuerySet[SortedReports]:
    return SortedReports.objects.filter(recipe=recipe, planned=False)


def _plan_sorting(recipe: Recipe) -> None:
    waiting = _waiting(recipe)
    most = max(1, SORTED_BYTES // record_bytes_of(recipe.published))
    for keys, count in _groups(waiting.values_list("pk", "count")[:PLANNED_SEGMENTS], most):
        chunk = Chunk.objects.create(recipe=recipe, count=count, step=Chunk.Step.SORT)
        waiting.filter(pk__gte=keys[0], pk__lte=keys[-1]).order_by().update(chunk=chunk.pk)


def _groups(rows: Iterable[tuple[int, int]], most: int) -> Iterator[tuple[list[int], int]]:
    keys: list[int] = []
    size = 0
    for key, count in rows:
        if keys and (size + count > most or len(keys) == SORTED_SEGMENTS):
            yield keys, size
            keys, size = [], 0
        keys.append(key)
        size += count
    if keys:
        yield keys, size


def _plan_sealing(recipe: Recipe) -> None:
    waiting = _unsealed(recipe)
    count = total(waiting, "count")
    if count:
        Chunk.objects.create(recipe=recipe, count=count, step=Chunk.Step.SEAL)
        waiting.update(planned=True)


def _losing_nothing(process: Callable[[Chunk], None]) -> Callable[..., None]:
    """A step that finds its chunk by its identifier, and gives up the recipe's reports if some of them are
    lost."""

    @wraps(process)
    def found(*, chunk: uuid.UUID) -> None:
        row = Chunk.objects.select_related("recipe").filter(pk=chunk).first()
        if row is None:
            return
        try:
            process(row)
        except ChangedError as error:
            _give_up(row, str(error))

    return found


def _give_up(chunk: Chunk, reason: str) -> None:
    with chunk_finished(chunk) as is_ours:
        # Otherwise another worker was faster, and has deleted what it did not need any more.
        if is_ours:
            logger.error("reports_lost", recipe=chunk.recipe.identifier, reason=reason)
            SegmentedRecipe.objects.filter(recipe=chunk.recipe).update(lost=reason)
            Chunk.objects.filter(recipe=chunk.recipe).delete()


@_losing_nothing
def segments_sort(chunk: Chunk) -> None:
    """Sort the segments of a chunk into one object, and delete them.

    Every attempt writes the same object under the same name.

    Raises:
        ReportsMissingError: rows of its segments are missing; nothing was written, nothing deleted.
    """
    recipe = chunk.recipe
    segments = list(_segments(recipe).filter(chunk=chunk.pk).select_related("recipe").order_by("pk"))
    found = sum(segment.count for segment in segments)
    if found != chunk.count:
        with chunk_finished(chunk) as is_ours:
            # Otherwise another worker has just finished it, or there is a result.
            if is_ours:
                raise ReportsMissingError(found=found, expected=chunk.count)
        return
    size = record_bytes_of(recipe.published)
    records = bytearray()
    for arrived in segments_read(segments):
        records += arrived
    shards = stored(SegmentedRecipe.objects.get(recipe=recipe).shards)
    content, index = sorted_segment(records, record_bytes=size, shards=shards)
    del records
    object_put(f"{recipe.identifier}/{SORTED}/{chunk.pk}", content)
    with chunk_finished(chunk) as is_ours:
        if is_ours:
            SortedReports.objects.create(
                id=chunk.pk,
                recipe=recipe,
                first=segments[0].pk,
                count=chunk.count,
                index_sha256=content_hash(index),
                sources_sha256=hashlib.sha256(b"".join(bytes(every.sha256) for every in segments)).digest(),
            )
            _segments(recipe).filter(chunk=chunk.pk).delete()
            transaction.on_commit(partial(_delete, [arrived_name(segment) for segment in segments]))


def _delete(names: Sequence[str]) -> None:
    try:
        objects_delete(names)
    except StoreDownError:
        # They count nothing any more, and go with the recipe.
        logger.warning("segments_left", count=len(names))


@_losing_nothing
def manifest_seal(chunk: Chunk) -> None:
    """Write the manifest of all sorted segments, its hash into the log, and make a chunk of each shard.

    Every attempt writes the same objects under the same names.
    """
    recipe = chunk.recipe
    folder, size = str(recipe.identifier), record_bytes_of(recipe.published)
    rows = list(SortedReports.objects.filter(recipe=recipe).order_by("first"))
    shards = stored(SegmentedRecipe.objects.get(recipe=recipe).shards)
    with object_written(f"{folder}/{manifests.LISTS}") as write:
        manifest = manifests.manifest_seal(
            recipe=folder,
            record_bytes=size,
            segments=[
                SortedSegment(f"{SORTED}/{row.pk}", row.count, bytes(row.sources_sha256)) for row in rows
            ],
            index_hashes=[bytes(row.index_sha256) for row in rows],
            shards=shards,
            read=recipe_reader(recipe),
            write=write,
        )
    content = manifest.to_bytes()
    object_put(f"{folder}/{manifests.MANIFEST}", content)
    sealed = content_hash(content)
    with chunk_finished(chunk) as is_ours:
        if is_ours:
            SegmentedRecipe.objects.filter(recipe=recipe).update(manifest=sealed)
            Chunk.objects.bulk_create(
                Chunk(recipe=recipe, count=count, step=Chunk.Step.SHARD, shard=shard)
                for shard, count in enumerate(manifest.counts)
                if count
            )
            entry_append(
                action=REPORTS_SEALED,
                subject=folder,
                actor=None,
                details={"manifest": sealed.hex()},
            )


@_losing_nothing
def shard_process(chunk: Chunk) -> None:
    """Add up one shard, as `chunk_process` does with rows: decryption runs outside the transaction, and only
    the first to finish finds the chunk's row."""
    recipe = chunk.recipe
    sealed = optional_bytes(SegmentedRecipe.objects.get(recipe=recipe).manifest)
    try:
        key = recipe_private_key(recipe=recipe)
    except RecipeKey.DoesNotExist:
        sealed = None
    if sealed is None:
        # Another worker has finished the last chunk, and the result is out.
        return
    manifest = _manifest(recipe, sealed)
    slices = shard_slices(manifest, stored(chunk.shard), recipe_reader(recipe))
    found = shard_sum(recipe.published, key, slices, chunk.pk.bytes + bytes(chunk.seed))
    with chunk_finished(chunk) as is_ours:
        if is_ours:
            sum_add(recipe=recipe, total=found.total, reports=found.reports)
            if found.duplicates:
                rejections_count(recipe=recipe, reasons={DUPLICATE: found.duplicates})


def _manifest(recipe: Recipe, sealed: bytes) -> Manifest:
    with missing_is_lost(recipe):
        return _read_manifest(str(recipe.identifier), sealed)


@lru_cache(maxsize=2)
def _read_manifest(identifier: str, sealed: bytes) -> Manifest:
    name = f"{identifier}/{manifests.MANIFEST}"
    size = object_size(name)
    if not 0 < size <= MANIFEST_BYTES:
        raise ChangedError("the manifest of the stored reports was changed")
    content = part_get(Part(name, 0, size))
    return Manifest.from_bytes(content, expected_hash=sealed)

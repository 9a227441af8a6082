"""Reports in object storage: duplicates are found when the recipe is closed.

First an object is written with all reports of a recipe that are stored together, a segment; then its row,
under the same lock as rows with reports: an acknowledged report has both, and an object without a row counts
nothing. A closed recipe has three steps of work:

1. Segments of some 64 MiB together are sorted by shard into one object (`Step.SORT`).
2. When all are, a manifest is sealed: the hashes of everything (`Step.SEAL`). Its own is logged.
3. Each shard is read from all of them, deduplicated, decrypted and added up by a pure function
   (`Step.SHARD`).

An object that was changed or is missing ends it all: the result is withheld. Objects cannot be deleted in a
transaction. So the transaction that ends a recipe marks them for deletion, and upkeep deletes them repeatedly
for an hour, those that a suspended process writes late included.
"""

import hashlib
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from functools import lru_cache, partial

import structlog
from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet

from panprivacy.encryption.interface import PrivateKey
from panprivacy.recipe.document import PublishedRecipe
from panprivacy.recipe.report_shards import manifest as manifests
from panprivacy.recipe.report_shards.manifest import Manifest, Range, SortedSegment, shard_slices
from panprivacy.recipe.report_shards.segments import (
    HEADER_BYTES,
    KEY_BYTES,
    ChangedError,
    content_hash,
    segment_read,
    segment_write,
)
from panprivacy.recipe.report_shards.shard_sum import record_bytes_of, shard_sum
from panprivacy.recipe.report_shards.sorted_segment import MOST_SHARDS, sorted_segment
from panprivacy.recipe.statistic import statistic_as
from panprivacy.statistics.interface import ReportStatistic
from recipes.log_entries import recipe_entry_append
from recipes.models import Recipe, RecipeKey
from reports.actions import REPORTS_SEALED
from reports.models import ReportSegment, SegmentedRecipe, SortedReports
from reports.object_store import (
    ObjectMissingError,
    Part,
    StoreDownError,
    folder_delete,
    object_put,
    object_size,
    object_written,
    objects_delete,
    objects_put,
    part_get,
    parts_get,
)
from reports.parsing import WellFormedReport
from reports.store import (
    PLACES,
    RecipeNotOpenError,
    Rejection,
    ReportsMissingError,
    ReportStore,
    Step,
    Submission,
    Taken,
    Work,
    groups_of,
    hold_open,
    open_of,
    rejections_count,
)
from storage import clock
from storage.columns import optional_bytes, stored, total
from storage.group_commit import GroupCommit, waits_bound
from storage.partitions import rows_delete

logger = structlog.get_logger(__name__)

ARRIVED, SORTED = "arrived", "sorted"
"""The place of objects, below the recipe's identifier."""

BEGUN = "begun"
"""The first object that is written for a recipe. A store without it is not the recipe's."""

READ_TOGETHER = 64
"""Segments that are read side by side."""

SEGMENT_BYTES = 16 * 1024 * 1024
"""Length of the records of one object, at most, unless a single one is longer: a batch may have 1,000 reports
of thousands of ciphertexts, and more than one reader's memory."""

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

DUPLICATE = "duplicate_report"
"""Why a report does not count that was found twice when its recipe was closed."""

STRAGGLERS = timedelta(hours=1)
"""No request and no task lives so long, and nothing is written for a recipe that has a result."""


class ReportObjects(ReportStore):
    """One object for all reports of a recipe that are stored together, and a row for each object."""

    def begin(self) -> None:
        SegmentedRecipe.objects.create(recipe=self.recipe, store=settings.OBJECT_STORE)

    def require(self) -> None:
        """Raises StoreDownError if the settings name another store than when the recipe was published."""
        (place,) = PLACES.get(str(self.recipe.identifier))
        if place is None or place.store != settings.OBJECT_STORE:
            raise StoreDownError("the reports of this recipe lie in another store than PANAPP_REPORT_STORE")

    def digest(self, report: WellFormedReport) -> bytes:
        """Of the content of a report; with tokens, of its nonce, which is its token's. A report that is sent
        again is the same in either."""
        counted = report.payload if self.recipe.published.admission is None else report.nonce
        key = stored(PLACES.get(str(self.recipe.identifier))[0]).key
        return hashlib.blake2b(counted, key=bytes(key), digest_size=KEY_BYTES).digest()

    def submit(self, submission: Submission, size: int) -> list[Rejection]:
        return WRITER.submit(submission, size)

    def unplanned(self) -> int:
        return total(self._waiting(), "count") + total(self._unsealed(), "count")

    def to_plan(self) -> int:
        return self.unplanned() if self.recipe.status == Recipe.Status.CLOSED else 0

    def plan(self, least: int) -> list[Work]:
        row = SegmentedRecipe.objects.select_for_update().get(recipe=self.recipe)
        if row.lost or row.ended_at is not None:
            return []
        if row.shards is None:
            # Counted once, because there may be millions of rows: no more arrive.
            received = total(self._segments(), "count")
            if received < least:
                return []
            row.shards = shards_for(self.recipe.published, received)
            row.save(update_fields=["shards"])
        planned = self._plan_sorting()
        if not self._segments().exists():
            planned += self._plan_sealing()
        return planned

    def take(self, work: Work, key: Callable[[], PrivateKey]) -> Taken | None:
        """Every attempt writes the same objects under the same names."""
        match work.step:
            case Step.SORT:
                return self._sort(work)
            case Step.SEAL:
                return self._seal()
            case Step.SHARD:
                return self._add_up(work, key)
        raise ValueError(f"no step of reports in object storage: {work.step}")

    def lose(self, reason: str) -> None:
        SegmentedRecipe.objects.filter(recipe=self.recipe).update(lost=reason)

    def lost(self) -> str:
        row = SegmentedRecipe.objects.filter(recipe=self.recipe).only("lost").first()
        return row.lost if row is not None else ""

    def end(self) -> None:
        """Mark everything for deletion by `upkeep`."""
        SegmentedRecipe.objects.filter(recipe=self.recipe).update(
            ended_at=clock.database_now(), manifest=None
        )
        SortedReports.objects.filter(recipe=self.recipe).delete()

    @staticmethod
    def upkeep() -> None:
        for row in SegmentedRecipe.objects.filter(ended_at__isnull=False).select_related("recipe"):
            # For a withheld result there may be millions.
            rows_delete(ReportSegment.objects.filter(recipe=row.recipe))
            late = stored(row.ended_at) + STRAGGLERS <= clock.settled_now()
            try:
                ReportObjects(row.recipe).require()
            except StoreDownError:
                # Other objects to delete may be in the configured store.
                logger.warning("segments_not_deleted", recipe=row.recipe.identifier)
                continue
            try:
                folder_delete(str(row.recipe.identifier))
            except StoreDownError:
                # There is one store: the next recipe would wait as long.
                logger.warning("segments_not_deleted", recipe=row.recipe.identifier)
                return
            if late:
                # Asked before the deletion: it began after the last straggler ended.
                row.delete()

    def write(self, records: Sequence[bytes]) -> list[tuple[ReportSegment, bytes]]:
        """Segments of `SEGMENT_BYTES` at most, in their order, and their contents. Nothing of them is stored.

        Raises:
            StoreDownError: this is not the recipe's store.
        """
        self.require()
        _begin(self._name(BEGUN))
        size = record_bytes_of(self.recipe.published)
        most = max(1, SEGMENT_BYTES // size)
        segments = []
        for start in range(0, len(records), most):
            part = records[start : start + most]
            content = segment_write(part, size)
            row = ReportSegment(
                recipe=self.recipe, name=uuid.uuid4(), sha256=content_hash(content), count=len(part)
            )
            segments.append((row, content))
        return segments

    def arrived_name(self, segment: ReportSegment) -> str:
        """The name of its object."""
        return self._name(f"{ARRIVED}/{segment.name}")

    def _name(self, place: str) -> str:
        return f"{self.recipe.identifier}/{place}"

    def _segments(self) -> QuerySet[ReportSegment]:
        return ReportSegment.objects.filter(recipe=self.recipe)

    def _waiting(self) -> QuerySet[ReportSegment]:
        return self._segments().filter(chunk=None).order_by("pk")

    def _unsealed(self) -> QuerySet[SortedReports]:
        return SortedReports.objects.filter(recipe=self.recipe, planned=False)

    def _shards(self) -> int:
        return stored(SegmentedRecipe.objects.get(recipe=self.recipe).shards)

    def _plan_sorting(self) -> list[Work]:
        waiting, planned = self._waiting(), []
        most = max(1, SORTED_BYTES // record_bytes_of(self.recipe.published))
        rows = waiting.values_list("pk", "count")[:PLANNED_SEGMENTS]
        for keys, count in groups_of(rows, most, longest=SORTED_SEGMENTS):
            planned.append(Work(Step.SORT, count))
            waiting.filter(pk__gte=keys[0], pk__lte=keys[-1]).order_by().update(chunk=planned[-1].id)
        return planned

    def _plan_sealing(self) -> list[Work]:
        waiting = self._unsealed()
        count = total(waiting, "count")
        if not count:
            return []
        waiting.update(planned=True)
        return [Work(Step.SEAL, count)]

    def _sort(self, work: Work) -> Taken:
        """Sort the segments of a chunk into one object, and delete them."""
        segments = list(self._segments().filter(chunk=work.id).order_by("pk"))
        found = sum(segment.count for segment in segments)
        if found != work.count:

            def missing() -> list[Work]:
                raise ReportsMissingError(found=found, expected=work.count)

            return Taken(missing)
        size = record_bytes_of(self.recipe.published)
        records = bytearray()
        for arrived in self._records(segments, size):
            records += arrived
        content, index = sorted_segment(records, record_bytes=size, shards=self._shards())
        del records
        object_put(self._name(f"{SORTED}/{work.id}"), content)
        sources = hashlib.sha256(b"".join(bytes(every.sha256) for every in segments)).digest()

        def end() -> list[Work]:
            SortedReports.objects.create(
                id=work.id,
                recipe=self.recipe,
                first=segments[0].pk,
                count=work.count,
                index_sha256=content_hash(index),
                sources_sha256=sources,
            )
            self._segments().filter(chunk=work.id).delete()
            transaction.on_commit(partial(_delete, [self.arrived_name(segment) for segment in segments]))
            return []

        return Taken(end)

    def _seal(self) -> Taken:
        """Write the manifest of all sorted segments, its hash into the log, and have each shard added up."""
        rows = list(SortedReports.objects.filter(recipe=self.recipe).order_by("first"))
        with object_written(self._name(manifests.LISTS)) as write:
            manifest = manifests.manifest_seal(
                recipe=str(self.recipe.identifier),
                record_bytes=record_bytes_of(self.recipe.published),
                segments=[
                    SortedSegment(f"{SORTED}/{row.pk}", row.count, bytes(row.sources_sha256)) for row in rows
                ],
                index_hashes=[bytes(row.index_sha256) for row in rows],
                shards=self._shards(),
                read=self._ranges,
                write=write,
            )
        content = manifest.to_bytes()
        object_put(self._name(manifests.MANIFEST), content)
        sealed = content_hash(content)

        def end() -> list[Work]:
            SegmentedRecipe.objects.filter(recipe=self.recipe).update(manifest=sealed)
            recipe_entry_append(
                recipe=self.recipe,
                action=REPORTS_SEALED,
                actor=None,
                details={"manifest": sealed.hex()},
            )
            return [Work(Step.SHARD, count, shard) for shard, count in enumerate(manifest.counts) if count]

        return Taken(end)

    def _add_up(self, work: Work, key: Callable[[], PrivateKey]) -> Taken | None:
        """Add up one shard: a pure function, which other engines can run too (examples/ray_shards.py)."""
        sealed = optional_bytes(SegmentedRecipe.objects.get(recipe=self.recipe).manifest)
        if sealed is None:
            # Another worker has finished the last chunk, and the result is out.
            return None
        try:
            private_key = key()
        except RecipeKey.DoesNotExist:
            return None
        slices = shard_slices(self._manifest(sealed), stored(work.shard), self._ranges)
        found = shard_sum(self.recipe.published, private_key, slices, work.id.bytes + work.seed)

        def end() -> list[Work]:
            if found.duplicates:
                rejections_count(recipe=self.recipe, reasons={DUPLICATE: found.duplicates})
            return []

        return Taken(end, found.total, found.reports)

    def _records(self, segments: Sequence[ReportSegment], size: int) -> Iterator[memoryview]:
        """The records of segments, in their order.

        Reads only what was written, whatever the objects have: an attacker may have made them longer.
        """
        for start in range(0, len(segments), READ_TOGETHER):
            together = segments[start : start + READ_TOGETHER]
            with self._missing_is_lost():
                contents = parts_get(
                    [
                        Part(self.arrived_name(every), 0, HEADER_BYTES + every.count * size)
                        for every in together
                    ]
                )
            for segment, content in zip(together, contents, strict=True):
                yield segment_read(content, record_bytes=size, expected_hash=bytes(segment.sha256))

    def _ranges(self, ranges: Sequence[Range]) -> list[bytes]:
        with self._missing_is_lost():
            return parts_get([Part(self._name(place.name), place.start, place.length) for place in ranges])

    def _manifest(self, sealed: bytes) -> Manifest:
        with self._missing_is_lost():
            return _read_manifest(self._name(manifests.MANIFEST), sealed)

    @contextmanager
    def _missing_is_lost(self) -> Iterator[None]:
        """Read objects of the recipe inside.

        Raises:
            ChangedError: one is missing, or shorter than it was.
            StoreDownError: the store does not answer, or has nothing at all of the recipe.
        """
        self.require()
        try:
            yield
        except ObjectMissingError:
            try:
                object_size(self._name(BEGUN))
            except ObjectMissingError:
                raise StoreDownError("the store has nothing of this recipe: is it the right one?") from None
            raise ChangedError("a stored segment of reports is missing or was shortened") from None


def shards_for(published: PublishedRecipe, reports: int) -> int:
    """The number of shards into which this number of reports is sorted: a power of two."""
    ciphertexts = statistic_as(published, ReportStatistic).report_ciphertexts
    by_time = SHARD_SECONDS / (ciphertexts * published.public_key.decryption_seconds)
    per_shard = max(1, min(SHARD_REPORTS, int(by_time)))
    least = -(-reports // per_shard)
    return min(MOST_SHARDS, 1 << max(0, least - 1).bit_length())


def segments_store(submissions: Sequence[Submission]) -> list[list[Rejection] | Exception]:
    """Store several submissions, of any recipes: first the objects, then their rows.

    Nothing is looked up: duplicates are found when the recipe is closed.

    Returns:
        For each the rejections, by index; or RecipeNotOpenError or RowHeldError, and nothing of it counts.

    Raises:
        StoreDownError: no row was written, so nothing counts.
    """
    stores = {submission.recipe.pk: ReportObjects(submission.recipe) for submission in submissions}
    records: dict[int, list[bytes]] = {key: [] for key in stores}
    reasons: dict[int, Counter[str]] = {key: Counter() for key in stores}
    for every in submissions:
        records[every.recipe.pk] += [
            every.digests[nonce] + report.payload for nonce, (_, report) in every.good.items()
        ]
        reasons[every.recipe.pk].update(bad.reason for bad in every.bad)
    # Checked before locking: for a recipe that is closed, no object is written.
    keys = open_of(stores.keys())
    written = [pair for key in sorted(keys) if records[key] for pair in stores[key].write(records[key])]
    objects_put([(stores[row.recipe_id].arrived_name(row), content) for row, content in written])
    with transaction.atomic():
        waits_bound()
        refused = dict.fromkeys(stores.keys() - keys, RecipeNotOpenError) | hold_open(keys)
        ReportSegment.objects.bulk_create(row for row, _ in written if row.recipe_id not in refused)
        for key in sorted(keys - refused.keys()):
            if reasons[key]:
                rejections_count(recipe=stores[key].recipe, reasons=reasons[key])
    return [
        refused[every.recipe.pk]() if every.recipe.pk in refused else list(every.bad) for every in submissions
    ]


WRITER: GroupCommit[Submission, list[Rejection]] = GroupCommit(segments_store)
"""Not that of `rows`: devices whose reports are stored in the database must not wait for the object store."""


@lru_cache(maxsize=1_024)
def _begin(name: str) -> None:
    object_put(name, b"")


def _delete(names: Sequence[str]) -> None:
    try:
        objects_delete(names)
    except StoreDownError:
        # They count nothing any more, and go with the recipe.
        logger.warning("segments_left", count=len(names))


@lru_cache(maxsize=2)
def _read_manifest(name: str, sealed: bytes) -> Manifest:
    size = object_size(name)
    if not 0 < size <= MANIFEST_BYTES:
        raise ChangedError("the manifest of the stored reports was changed")
    return Manifest.from_bytes(part_get(Part(name, 0, size)), expected_hash=sealed)

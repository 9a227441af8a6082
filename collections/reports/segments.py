"""Reports in the object store: one object for all of a recipe that are stored together.

First the object is written, then its row, under the same lock as rows with reports: an acknowledged report
has both, and an object without a row counts nothing. What counts once is found when the recipe is closed.
"""

import hashlib
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import NamedTuple

from django.conf import settings

from panprivacy.recipe.report_shards.manifest import Range, Read
from panprivacy.recipe.report_shards.segments import (
    HEADER_BYTES,
    KEY_BYTES,
    ChangedError,
    content_hash,
    segment_read,
    segment_write,
)
from panprivacy.recipe.report_shards.shard_sum import record_bytes_of
from recipes.models import Recipe
from reports.models import ReportSegment, SegmentedRecipe
from reports.object_store import (
    ObjectMissingError,
    Part,
    StoreDownError,
    object_put,
    object_size,
    objects_put,
    parts_get,
)
from reports.parsing import WellFormedReport
from storage.kept_rows import KeptRows

ARRIVED, SORTED = "arrived", "sorted"
"""The place of objects, below the recipe's identifier."""

BEGUN = "begun"
"""The first object that is written for a recipe. A store without it is not the recipe's."""

READ_TOGETHER = 64
"""Segments that are read side by side."""

SEGMENT_BYTES = 16 * 1024 * 1024
"""Length of the records of one object, at most, unless a single one is longer: a batch may have 1,000 reports
of thousands of ciphertexts, and more than one reader's memory."""

DUPLICATE = "duplicate_report"
"""Why a report does not count that was found twice when its recipe was closed."""


def segments_begin(*, recipe: Recipe) -> None:
    """Put the reports of a recipe into the object store if the settings ask for it, in the transaction that
    publishes it."""
    if settings.OBJECT_STORE:
        SegmentedRecipe.objects.create(recipe=recipe, store=settings.OBJECT_STORE)


class Segmented(NamedTuple):
    """What never changes of a recipe whose reports are in the object store.

    Attributes:
        key: of the hashes by which a report counts once.
        store: address of the store.
    """

    key: bytes
    store: str


def _read(identifier: str) -> tuple[Segmented | None]:
    row = SegmentedRecipe.objects.filter(recipe__identifier=identifier).only("key", "store").first()
    return (None if row is None else Segmented(bytes(row.key), row.store),)


SEGMENTED: KeptRows[str, tuple[Segmented | None]] = KeptRows(_read, lambda _: True)
"""By identifier, what a process has read: threads that come at once must not take a connection each, and hold
it while the writer needs one."""


def segmented_of(identifier: str) -> Segmented | None:
    """How the reports of a published recipe are stored in the object store; None if they do not."""
    return SEGMENTED.get(identifier)[0]


def once_key(key: bytes, recipe: Recipe, report: WellFormedReport) -> bytes:
    """What counts once: the content of a report; with tokens, its nonce, which is its token's.

    A report that is sent again is the same in either.
    """
    counted = report.payload if recipe.published.admission is None else report.nonce
    return hashlib.blake2b(counted, key=key, digest_size=KEY_BYTES).digest()


def segments_write(records: Mapping[Recipe, Sequence[bytes]]) -> list[ReportSegment]:
    """Write one object for each recipe, or several of `SEGMENT_BYTES`; durable when this returns, and counted
    once the rows are committed, in their order.

    Raises:
        StoreDownError: some may be there, and count nothing.
    """
    segments, objects = [], []
    for recipe, its_records in records.items():
        require_store(recipe)
        _begin(str(recipe.identifier))
        size = record_bytes_of(recipe.published)
        most = max(1, SEGMENT_BYTES // size)
        for start in range(0, len(its_records), most):
            part = its_records[start : start + most]
            content = segment_write(part, size)
            segment = ReportSegment(
                recipe=recipe, name=uuid.uuid4(), sha256=content_hash(content), count=len(part)
            )
            segments.append(segment)
            objects.append((arrived_name(segment), content))
    objects_put(objects)
    return segments


@lru_cache(maxsize=1_024)
def _begin(identifier: str) -> None:
    object_put(f"{identifier}/{BEGUN}", b"")


def arrived_name(segment: ReportSegment) -> str:
    """The name of its object."""
    return f"{segment.recipe.identifier}/{ARRIVED}/{segment.name}"


def require_store(recipe: Recipe) -> None:
    """Raises StoreDownError if the settings name another store than when the recipe was published."""
    segmented = segmented_of(str(recipe.identifier))
    if segmented is None or segmented.store != settings.OBJECT_STORE:
        raise StoreDownError("the reports of this recipe lie in another store than PANAPP_REPORT_STORE")


@contextmanager
def missing_is_lost(recipe: Recipe) -> Iterator[None]:
    """Read objects of a recipe inside.

    Raises:
        ChangedError: one is missing, or shorter than it was.
        StoreDownError: the store does not answer, or has nothing at all of the recipe.
    """
    require_store(recipe)
    try:
        yield
    except ObjectMissingError:
        try:
            object_size(f"{recipe.identifier}/{BEGUN}")
        except ObjectMissingError:
            raise StoreDownError("the store has nothing of this recipe: is it the right one?") from None
        raise ChangedError("a stored segment of reports is missing or was shortened") from None


def recipe_reader(recipe: Recipe) -> Read:
    """Reads ranges of a recipe's objects; raises as `missing_is_lost` does."""

    def read(ranges: Sequence[Range]) -> list[bytes]:
        with missing_is_lost(recipe):
            return parts_get(
                [Part(f"{recipe.identifier}/{place.name}", place.start, place.length) for place in ranges]
            )

    return read


def segments_read(segments: Sequence[ReportSegment]) -> Iterator[memoryview]:
    """The records of segments of one recipe, in their order; raises as `missing_is_lost` does.

    Reads only what was written, whatever the objects have: an attacker may have made them longer.
    """
    for start in range(0, len(segments), READ_TOGETHER):
        together = segments[start : start + READ_TOGETHER]
        recipe = together[0].recipe
        size = record_bytes_of(recipe.published)
        with missing_is_lost(recipe):
            contents = parts_get(
                [Part(arrived_name(every), 0, HEADER_BYTES + every.count * size) for every in together]
            )
        for segment, content in zip(together, contents, strict=True):
            yield segment_read(content, record_bytes=size, expected_hash=bytes(segment.sha256))

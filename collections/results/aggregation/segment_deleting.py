"""Deleting from the object store what belongs to recipes that have a result.

Objects cannot be deleted in a transaction. So the transaction that ends a recipe marks them for deletion. A
periodic task deletes them repeatedly for an hour, so that objects written late by a suspended process are
deleted too.
"""

from datetime import timedelta

import structlog

from recipes.models import Recipe
from reports.models import ReportSegment, SegmentedRecipe
from reports.object_store import StoreDownError, folder_delete
from reports.segments import require_store
from results.aggregation.models import SortedReports
from storage import clock
from storage.partitions import rows_delete

logger = structlog.get_logger(__name__)

STRAGGLERS = timedelta(hours=1)
"""No request and no task lives so long, and nothing is written for a recipe that has a result."""


def segments_end(*, recipe: Recipe) -> None:
    """Have the segments of a recipe deleted, rows and objects, in the transaction that ends it."""
    ended = SegmentedRecipe.objects.filter(recipe=recipe).update(ended_at=clock.database_now(), manifest=None)
    if ended:
        SortedReports.objects.filter(recipe=recipe).delete()


def ended_segments_delete() -> None:
    """Delete what is marked for deletion. May be called at any time, twice."""
    for row in SegmentedRecipe.objects.filter(ended_at__isnull=False).select_related("recipe"):
        if row.ended_at is None:
            continue
        # For a withheld result there may be millions.
        rows_delete(ReportSegment.objects.filter(recipe=row.recipe))
        late = row.ended_at + STRAGGLERS <= clock.settled_now()
        try:
            require_store(row.recipe)
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

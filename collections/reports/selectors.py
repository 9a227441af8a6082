"""Reading what has come in."""

from recipes.models import Recipe
from reports.models import RejectionCount, ReportSegment, StoredReports
from reports.segments import segmented_of
from storage.columns import total


def reports_unplanned(recipe: Recipe) -> int:
    """Number of stored reports that no chunk takes in yet."""
    model = StoredReports if segmented_of(str(recipe.identifier)) is None else ReportSegment
    return total(model.objects.filter(recipe=recipe, chunk=None), "count")


def rejections_by_reason(recipe: Recipe) -> dict[str, int]:
    """Reason → number of reports that were rejected on arrival."""
    return dict(
        RejectionCount.objects.filter(recipe=recipe).order_by("reason").values_list("reason", "count")
    )

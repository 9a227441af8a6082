"""Reading what has come in."""

from django.db.models import Sum

from recipes.models import Recipe
from reports.models import RejectionCount, StoredReports


def pending_reports(recipe: Recipe) -> int:
    """Number of stored reports that are not part of a sub-aggregate yet."""
    total = StoredReports.objects.filter(recipe=recipe).aggregate(total=Sum("count"))["total"]
    return total or 0


def rejections_by_reason(recipe: Recipe) -> dict[str, int]:
    """Reason → number of rejected reports."""
    return dict(
        RejectionCount.objects.filter(recipe=recipe).order_by("reason").values_list("reason", "count")
    )

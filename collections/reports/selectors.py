"""Reading what has come in."""

from django.db.models import Q, Sum

from recipes.models import Recipe
from reports.models import RejectionCount, StoredReports


def reports_stored(recipe: Recipe) -> tuple[int, int]:
    """Number of stored reports, and of those among them that no chunk takes in yet."""
    totals = StoredReports.objects.filter(recipe=recipe).aggregate(
        stored=Sum("count"), unplanned=Sum("count", filter=Q(chunk=None))
    )
    return totals["stored"] or 0, totals["unplanned"] or 0


def rejections_by_reason(recipe: Recipe) -> dict[str, int]:
    """Reason → number of reports that were rejected on arrival."""
    return dict(
        RejectionCount.objects.filter(recipe=recipe).order_by("reason").values_list("reason", "count")
    )

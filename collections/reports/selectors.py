"""Reading what has come in."""

from django.db.models import Q, Sum

from recipes.models import Recipe
from reports.models import RejectionCount, StoredReports
from reports.parsing import ARRIVAL_REASONS


def reports_stored(recipe: Recipe) -> tuple[int, int]:
    """Number of stored reports, and of those among them that no chunk takes in yet."""
    totals = StoredReports.objects.filter(recipe=recipe).aggregate(
        stored=Sum("count"), unplanned=Sum("count", filter=Q(chunk=None))
    )
    return totals["stored"] or 0, totals["unplanned"] or 0


def rejections_by_reason(recipe: Recipe) -> dict[str, int]:
    """Reason → number of rejected reports. Not for the public; see `public_rejections`."""
    return dict(
        RejectionCount.objects.filter(recipe=recipe).order_by("reason").values_list("reason", "count")
    )


def public_rejections(recipe: Recipe) -> dict[str, int]:
    """Those reasons that are found without decrypting; all of them for a simulation."""
    rejections = rejections_by_reason(recipe)
    if recipe.simulation:
        return rejections
    return {reason: count for reason, count in rejections.items() if reason in ARRIVAL_REASONS}

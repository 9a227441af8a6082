"""Reading how far the work has come."""

from dataclasses import dataclass

from django.db.models import Max, Sum

from aggregation.models import Chunk, SubAggregate
from recipes.models import Recipe
from reports.selectors import pending_reports


@dataclass(frozen=True)
class Progress:
    """How many reports of a recipe stand where.

    Attributes:
        summed: reports in sub-aggregates, found valid.
        waiting: reports stored, not yet decrypted.
        attempts: of the chunk that was tried most often; more than 3 means trouble.
    """

    summed: int
    waiting: int
    attempts: int

    @property
    def received(self) -> int:
        """All reports that count or may count."""
        return self.summed + self.waiting


def progress_of(recipe: Recipe) -> Progress:
    """The exact progress; public pages show it in coarse steps only."""
    summed = SubAggregate.objects.filter(recipe=recipe).aggregate(total=Sum("reports"))["total"]
    attempts = Chunk.objects.filter(recipe=recipe).aggregate(most=Max("attempts"))["most"]
    return Progress(summed or 0, pending_reports(recipe), attempts or 0)


def sum_of(recipe: Recipe) -> tuple[tuple[int, ...], int]:
    """The sum over all sub-aggregates, and the number of reports in it."""
    rows = list(SubAggregate.objects.filter(recipe=recipe).values_list("total", "reports"))
    total = tuple(map(sum, zip(*(total for total, _ in rows), strict=True)))
    return total, sum(reports for _, reports in rows)

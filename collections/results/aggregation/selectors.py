"""Reading how far the work has come."""

from dataclasses import dataclass

from django.db.models import Max, Sum

from recipes.models import Recipe
from reports.operations import report_store_of
from results.aggregation.models import Chunk, SubAggregate


@dataclass(frozen=True)
class Progress:
    """How many reports of a recipe are in each state.

    Attributes:
        summed: reports in the sum.
        planned: reports that a chunk will take in.
        unplanned: reports that no chunk takes in yet.
        attempts: of the chunk that was tried most often; more than 3 means trouble.
    """

    summed: int
    planned: int
    unplanned: int
    attempts: int

    @property
    def waiting(self) -> int:
        """Reports stored, not yet decrypted."""
        return self.planned + self.unplanned

    @property
    def received(self) -> int:
        """All reports that were stored."""
        return self.summed + self.waiting


def progress_of(recipe: Recipe) -> Progress:
    """The exact progress; public pages show it in coarse steps only."""
    so_far = SubAggregate.objects.filter(recipe=recipe).first() or SubAggregate(recipe=recipe)
    chunks = Chunk.objects.filter(recipe=recipe).aggregate(most=Max("attempts"), reports=Sum("count"))
    unplanned = report_store_of(recipe).unplanned()
    return Progress(so_far.reports, chunks["reports"] or 0, unplanned, chunks["most"] or 0)

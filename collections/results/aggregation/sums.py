"""The sum of a recipe's reports: have it made, read it, delete what it was made of."""

from dataclasses import dataclass

from panprivacy.recipe.statistic import statistic_as
from panprivacy.statistics.interface import ReportStatistic
from recipes.models import Recipe, RecipeKey
from reports.operations import report_store_of
from results.aggregation.models import Chunk, SubAggregate
from results.aggregation.operations import chunks_plan
from results.aggregation.selectors import progress_of
from results.aggregation.tasks import chunks_send
from storage.sealing import secrets_delete


@dataclass(frozen=True)
class ReportSum:
    """The sum over the reports of a recipe.

    Attributes:
        total: vector sum of their contributions.
        reports: how many are in it.
        received: how many were stored.
    """

    total: tuple[int, ...]
    reports: int
    received: int


def sum_advance(*, recipe: Recipe, least: int | None = None) -> None:
    """Have workers take in what waits, and again what seems lost. May be called at any time, twice.

    Args:
        least: number of reports below which a closed recipe is not decrypted at all; its cohort size by
            default.
    """
    chunks_plan(recipe=recipe, least=least)
    chunks_send(recipe=recipe)


def sum_is_settled(recipe: Recipe) -> bool:
    """Whether no worker has anything to take in: a cheap check without locks."""
    return not Chunk.objects.filter(recipe=recipe).exists()


def sum_of(recipe: Recipe, *, least: int) -> ReportSum | None:
    """The sum of a closed recipe; None while reports wait for workers.

    Args:
        least: as in `sum_advance`; with fewer reports there is nothing to wait for.
    """
    progress = progress_of(recipe)
    to_plan = progress.unplanned > 0 and progress.received >= least
    if to_plan or not sum_is_settled(recipe):
        return None
    counted = SubAggregate.objects.filter(recipe=recipe).first()
    total = (
        counted.total
        if counted
        else [0] * statistic_as(recipe.published, ReportStatistic).contribution_length
    )
    return ReportSum(tuple(total), progress.summed, progress.received)


def reports_lost(recipe: Recipe) -> str:
    """The known losses among a recipe's stored reports, as a clause; empty if there are none."""
    return report_store_of(recipe).lost()


def sum_forget(*, recipe: Recipe) -> None:
    """Delete sum and private key in the transaction that stores the release, and the reports with it or, on
    PostgreSQL, directly after its commit."""
    # In the order in which a worker that finishes a chunk locks them.
    for model in (Chunk, SubAggregate):
        model.objects.filter(recipe=recipe).delete()
    # Before the reports: the key is erased first after the commit.
    secrets_delete(RecipeKey.objects.filter(recipe=recipe), "sealed")
    report_store_of(recipe).end()

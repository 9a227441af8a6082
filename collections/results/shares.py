"""Which results are shares of all devices that were asked."""

from typing import Any

from panprivacy.statistics.interface import Statistic
from panprivacy.statistics.shares import Shares
from recipes.models import Recipe
from results.models import Release


def shares_of(recipe: Recipe, release: Release) -> Shares | None:
    """What the counts of a release are shares of; None if they are none (`Shares.from_reports`)."""
    return Shares.from_reports(recipe.published.calibrated_statistic, release.reports)


def shares_have_intervals(statistic: Statistic[Any]) -> bool:
    """Whether its results, if there are any, are shares with intervals: of whole populations, not segments.
    It may be uncalibrated."""
    if not statistic.counts_devices or statistic.noisy_count:
        return False
    lowest, highest = statistic.reporting_rates
    return lowest == highest

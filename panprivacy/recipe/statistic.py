"""The statistic that turns a recipe's reports into its result."""

from typing import Any

from panprivacy.recipe.document import PublishedRecipe
from panprivacy.statistics.interface import ReportStatistic


def report_statistic(recipe: PublishedRecipe) -> ReportStatistic[Any]:
    """The recipe's statistic with its parameters; TypeError if it is not made of reports."""
    statistic = recipe.calibrated_statistic
    if not isinstance(statistic, ReportStatistic):
        raise TypeError(f"{recipe.statistic} is not made of reports")
    return statistic

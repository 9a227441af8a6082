"""The shuffle protocol that a recipe asks for."""

from typing import Any

from panprivacy.recipe.document import PublishedRecipe
from panprivacy.statistics.shuffle.interface import ShuffleStatistic


def shuffle_statistic(recipe: PublishedRecipe) -> ShuffleStatistic[Any]:
    """The recipe's statistic with its parameters; TypeError if it does not go through a shuffler."""
    statistic = recipe.calibrated_statistic
    if not isinstance(statistic, ShuffleStatistic):
        raise TypeError(f"{recipe.statistic} does not go through a shuffler")
    return statistic

"""The streaming algorithm that a recipe asks for."""

from typing import Any

from panprivacy.recipe.document import PublishedRecipe
from panprivacy.statistics.streams.interface import StreamStatistic


def stream_statistic(recipe: PublishedRecipe) -> StreamStatistic[Any]:
    """The recipe's statistic with its parameters; TypeError if it is not of a stream of items."""
    statistic = recipe.calibrated_statistic
    if not isinstance(statistic, StreamStatistic):
        raise TypeError(f"{recipe.statistic} is not of a stream of items")
    return statistic

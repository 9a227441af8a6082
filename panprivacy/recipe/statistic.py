"""A recipe's statistic, as the class whose methods a caller needs."""

from typing import Any, TypeVar

from panprivacy.recipe.document import PublishedRecipe
from panprivacy.statistics.interface import Statistic

S = TypeVar("S", bound=Statistic[Any])


def statistic_as(recipe: PublishedRecipe, statistic_class: type[S]) -> S:
    """The recipe's statistic with its parameters; TypeError if it is not of this class."""
    return narrowed(recipe.calibrated_statistic, statistic_class)


def narrowed(statistic: Statistic[Any], statistic_class: type[S]) -> S:
    """The same statistic; TypeError if it is not of this class."""
    if not isinstance(statistic, statistic_class):
        raise TypeError(f"{statistic.statistic} is no {statistic_class.__name__}")
    return statistic

"""The mechanism of local pan-privacy that a recipe asks for."""

from typing import Any

from panprivacy.mechanisms.interface import Mechanism
from panprivacy.recipe import Recipe


def recipe_mechanism(recipe: Recipe) -> Mechanism[Any]:
    """The recipe's statistic with its parameters; TypeError where devices do not count events for it."""
    statistic = recipe.mechanism
    if not isinstance(statistic, Mechanism):
        raise TypeError(f"{recipe.statistic} is not of devices that count events")
    return statistic

"""A device's budget of its own: what all recipes that it ever joined may reveal together.

It adds up the local ε of one report of each recipe: basic composition (Dwork and Roth, The Algorithmic
Foundations of Differential Privacy, Theorem 3.16), whose δ add up as well and are not limited here. One file
for all recipes: a recipe that ended, that the device left, or whose state was deleted stays counted. It holds
which recipes the device joined; nothing about any event, value or coin.
"""

import math
from collections.abc import Mapping
from typing import Any

from panprivacy.device.notes_file import NotesFile
from panprivacy.device.storage import StateFileError
from panprivacy.formats.display import plain
from panprivacy.formats.errors import FieldError
from panprivacy.planning.limits import LimitError, report_epsilon
from panprivacy.recipe.document import PublishedRecipe

EPSILON, JOINED = "epsilon", "joined"
"""Of each recipe, or document of rounds: its ε, and the recipes that were joined, not only counted."""

MOST_LIFETIME_EPSILON = 1e6
ROUNDING = 1 + 2**-40
"""What sums may exceed the budget by: ten recipes with ε = 0.1 fit into 1."""


class LifetimeMemoryError(StateFileError):
    """A file that holds no memory of a lifetime's ε."""


class LifetimeMemory(NotesFile):
    """Notes by recipe, or document of rounds, as in `NotesFile`; LifetimeMemoryError if the file holds
    something else."""

    format, named, about, refusal = (
        "panapp-device-lifetime-1",
        "recipes",
        "recipes joined",
        LifetimeMemoryError,
    )

    @staticmethod
    def are_notes(notes: Mapping[str, Any]) -> bool:
        return all(
            type(each[EPSILON]) in (int, float)
            and 0 < each[EPSILON] <= MOST_LIFETIME_EPSILON * ROUNDING
            and isinstance(each[JOINED], list)
            and all(isinstance(recipe, str) for recipe in each[JOINED])
            for each in notes.values()
        )

    @property
    def used(self) -> float:
        """The sum of all ε."""
        return math.fsum(each[EPSILON] for each in self._notes.values())

    def epsilon_of(self, name: str) -> float:
        """What is counted under a name; 0 for nothing."""
        epsilon: float = self._notes.get(name, {EPSILON: 0.0})[EPSILON]
        return epsilon

    def joined(self, name: str) -> list[str]:
        """The recipes that were joined under a name."""
        return list(self._notes.get(name, {JOINED: []})[JOINED])

    def note(self, name: str, epsilon: float, joined: list[str]) -> None:
        """Replace what is counted under a name, durably."""
        self._keep(name, {EPSILON: epsilon, JOINED: joined})


class LifetimeBudget:
    """Counts a recipe ahead of joining it, and refuses those that do not fit.

    A device that loses power between `count` and its first state joins at no further cost. One that loses it
    between its first state and `record_joined` goes on from the state.

    Args:
        memory: what this device ever joined.
        largest: the largest sum of local ε, 0 to `MOST_LIFETIME_EPSILON`; FieldError otherwise.
        once: whether the recipe is a round of a document whose devices give in one round only; all its rounds
            then cost one ε. Other rounds cost one ε each, when they are joined.
    """

    def __init__(self, memory: LifetimeMemory, largest: float, *, once: bool = False) -> None:
        self._memory = memory
        self._largest = lifetime_epsilon(largest)
        self._once = once

    def has_joined(self, recipe: PublishedRecipe) -> bool:
        """Whether this recipe was joined: a second report would reveal more."""
        return recipe.identifier in self._memory.joined(self._name(recipe))

    def require(self, recipe: PublishedRecipe) -> None:
        """LimitError unless the recipe fits; it names what is used and what is left."""
        total = math.fsum((self._memory.used, self._cost(recipe)))
        if total > self._largest * ROUNDING:
            cost = plain(self._cost(recipe), ".6g")
            raise self._refusal(f"is {cost} for one report, more than is left of this device's lifetime")

    def count(self, recipe: PublishedRecipe) -> None:
        """Count the recipe, durably; LimitError as in `require`. Call it ahead of storing or sending anything
        of the recipe, and of its coin."""
        self.require(recipe)
        name, cost = self._name(recipe), self._cost(recipe)
        if cost:
            total = math.fsum((self._memory.epsilon_of(name), cost))
            self._memory.note(name, total, self._memory.joined(name))

    def record_joined(self, recipe: PublishedRecipe) -> None:
        """Note that the first state is stored: from here on another report costs again."""
        name = self._name(recipe)
        joined = {*self._memory.joined(name), recipe.identifier}
        self._memory.note(name, self._memory.epsilon_of(name), sorted(joined))

    def _cost(self, recipe: PublishedRecipe) -> float:
        """What counting it adds: nothing if it is counted and not joined."""
        epsilon = report_epsilon(recipe.calibrated_statistic)
        if epsilon is None:
            raise self._refusal("has no number for one report alone, which this device's lifetime needs")
        is_counted = self._memory.epsilon_of(self._name(recipe)) > 0
        return 0.0 if is_counted and not self.has_joined(recipe) else epsilon

    def _name(self, recipe: PublishedRecipe) -> str:
        return recipe.round.of if self._once and recipe.round is not None else recipe.identifier

    def _refusal(self, why: str) -> LimitError:
        used = self._memory.used
        numbers = (used, self._largest, round(max(0.0, self._largest - used), 9))
        spent, largest, left = (plain(number, ".6g") for number in numbers)
        return LimitError(
            "epsilon", f"{why}: {spent} of {largest} used, {left} left", limit="lifetime_epsilon"
        )


def lifetime_epsilon(value: float) -> float:
    """The value; FieldError unless it can be a budget."""
    if not 0 <= value <= MOST_LIFETIME_EPSILON:
        allowed = f"must be a number from 0 to {MOST_LIFETIME_EPSILON:,.0f}"
        raise FieldError("lifetime_epsilon", f"{allowed}, not {plain(value)}")
    return value

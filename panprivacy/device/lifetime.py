"""A device's budget of its own: what all recipes that it ever joined may reveal together.

It adds up the local ε of one report of each recipe: basic composition (Dwork and Roth, The Algorithmic
Foundations of Differential Privacy, Theorem 3.16), whose δ add up as well and are not limited here. One file
for all recipes: a recipe that ended, that the device left, or whose state was deleted stays counted. It holds
which recipes the device joined, and, like `rounds_memory`, whether it gave in rounds where it gives once;
nothing else about any event, value or coin.
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

EPSILON, JOINED, UNSPENT = "epsilon", "joined", "unspent"
"""Of each recipe, or document of rounds: its ε; the recipes that were joined, not only counted; and of rounds
whose devices give in one only, true if the coin kept the device out of the last one."""

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
            and each.get(UNSPENT, True) is True
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

    def is_unspent(self, name: str) -> bool:
        """Whether an ε that is counted under a name pays for another round."""
        return UNSPENT in self._notes.get(name, {})

    def note(self, name: str, epsilon: float, joined: list[str], *, unspent: bool = False) -> None:
        """Replace what is counted under a name, durably."""
        self._keep(name, {EPSILON: epsilon, JOINED: joined} | ({UNSPENT: True} if unspent else {}))


class LifetimeBudget:
    """Counts a recipe ahead of joining it, and refuses those that do not fit.

    A device that loses power between `count` and `record_joined` may have a state that sends. It goes on from
    it; joining again costs again.

    Args:
        memory: what this device ever joined.
        largest: the largest sum of local ε, 0 to `MOST_LIFETIME_EPSILON`; FieldError otherwise.
        once: whether the recipe is a round of a document whose devices give in one round only. A round then
            costs nothing if the coin kept the device out of the last one. It costs again if the device gave:
            the memory of rounds, which would refuse it, may be lost. Other rounds cost one ε each, when they
            are joined.
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
        name = self._name(recipe)
        total = math.fsum((self._memory.epsilon_of(name), self._cost(recipe)))
        self._memory.note(name, total, self._memory.joined(name))

    def record_joined(self, recipe: PublishedRecipe, *, gives: bool = True) -> None:
        """Note that the first state is stored: from here on the recipe is not joined again.

        Args:
            gives: false if the coin keeps the device out, or it is in no target. Kept of `once` only.
        """
        name = self._name(recipe)
        joined = sorted({*self._memory.joined(name), recipe.identifier})
        unspent = name != recipe.identifier and not gives
        self._memory.note(name, self._memory.epsilon_of(name), joined, unspent=unspent)

    def _cost(self, recipe: PublishedRecipe) -> float:
        """What counting it adds: nothing if an earlier round pays for it."""
        epsilon = report_epsilon(recipe.calibrated_statistic)
        if epsilon is None:
            raise self._refusal("has no number for one report alone, which this device's lifetime needs")
        return 0.0 if self._memory.is_unspent(self._name(recipe)) else epsilon

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

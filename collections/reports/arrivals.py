"""Marks an open recipe once enough reports have arrived to be added up.

Storing a report must stay cheap, and must not wait for the recipe's row of steps. So each process counts in
memory, and marks a recipe after as many reports as are taken in together, and at most once a second. What is
too little for each of several processes is found by a later step, at the latest after closing.
"""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from recipes.models import Recipe
from recipes.steps import step_due_unless_locked

MINIMUM_REPORTS = 500
"""Reports of an open recipe that are taken in together, at least (or the cohort size, if smaller)."""

MARK_SECONDS = 1.0
"""Between two marks of one recipe by one process."""

MOST_RECIPES = 10_000
"""Recipes whose reports are counted; then counting begins anew."""


@dataclass
class _Count:
    reports: int = 0
    marked_at: float = float("-inf")


class Arrivals:
    """The counts of one process.

    Args:
        steady: seconds, from whenever.
    """

    def __init__(self, steady: Callable[[], float] = time.monotonic) -> None:
        self._steady = steady
        self._counts: dict[str, _Count] = {}
        self._lock = threading.Lock()

    def are_enough(self, recipe: Recipe, number: int) -> bool:
        """Count reports that are being stored; whether the recipe is to be marked now."""
        with self._lock:
            if len(self._counts) >= MOST_RECIPES:
                self._counts.clear()
            count = self._counts.setdefault(str(recipe.identifier), _Count())
            count.reports += number
            now = self._steady()
            if (
                count.reports < min(MINIMUM_REPORTS, recipe.cohort_size)
                or now < count.marked_at + MARK_SECONDS
            ):
                return False
            count.reports, count.marked_at = 0, now
            return True


_HERE = Arrivals()


def arrivals_count(*, recipe: Recipe, number: int) -> None:
    """Note reports that are stored. If this is lost, a later step finds them."""
    if _HERE.are_enough(recipe, number):
        step_due_unless_locked(recipe=recipe)

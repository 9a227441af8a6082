"""Sends the tasks of recipes that have something to do."""

from celery import current_app

from recipes.models import Recipe
from recipes.steps import steps_claim, steps_unclaim

TASK = "results.tasks.advance_collection"
"""It is defined in a layer above."""


def steps_send(*, only: Recipe | None = None) -> None:
    """Send the task of each recipe whose step is due, unless one waits or runs already.

    Args:
        only: of this recipe alone. A task that has just marked it need not leave it to the next poll.
    """
    claims = steps_claim(only=only)
    for identifier in list(claims):
        try:
            current_app.send_task(TASK, args=(identifier, claims[identifier]))
        except Exception:
            steps_unclaim(claims=claims)
            raise
        del claims[identifier]

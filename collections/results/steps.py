"""The step of one recipe, alone: what it waits for, or how it fails, holds up no other."""

from datetime import datetime, timedelta

import structlog
from django.db.models import Min

from recipes.errors import UnreadableRecipeError
from recipes.models import NextStep, Recipe
from recipes.steps import LONGEST_REST, step_turn
from results.aggregation.models import Chunk
from results.operations import closing_time, collection_advance
from results.outcomes import SourceLostError
from storage import clock

logger = structlog.get_logger(__name__)

CLOSED_REST = timedelta(minutes=1)
"""Between two steps of a closed recipe that nothing marks."""

DOUBTED_REST = timedelta(minutes=1)
"""Between two steps of an open recipe that is over by a clock that is not believed yet."""


def collection_step(*, identifier: str, claim: str | None = None) -> None:
    """Bring one unfinished recipe one step on, and set when to do so again; do nothing if a worker does so
    now. Safe to run at any time, even twice.

    A step that fails is logged and tried again after a pause that grows.

    Args:
        claim: that the message carries (`recipes.steps`).
    """
    key = NextStep.objects.filter(recipe__identifier=identifier).values_list("pk", flat=True).first()
    if key is None:
        return
    with step_turn(recipe=key, claim=claim) as turn:
        if turn is None:
            return
        recipe = Recipe.objects.get(pk=key)
        try:
            collection_advance(recipe=recipe, now=clock.settled_now())
            turn.rest_until = _rest_until(recipe, clock.database_now())
        except UnreadableRecipeError as error:
            turn.failed = True
            logger.error("recipe_unreadable", recipe=identifier, error=str(error))
        except SourceLostError:
            turn.failed = True
            logger.error("stream_lost", recipe=identifier)
        except Exception:
            turn.failed = True
            logger.exception("recipe_not_advanced", recipe=identifier)


def _rest_until(recipe: Recipe, now: datetime) -> datetime:
    """When to take the next step if nothing marks it before: at the closing time, and when the first chunk
    seems lost."""
    if recipe.status == Recipe.Status.CLOSED:
        until = now + CLOSED_REST
    elif (closes := closing_time(recipe)) > now:
        until = min(closes, now + LONGEST_REST)
    else:
        until = now + DOUBTED_REST
    lost = Chunk.objects.filter(recipe=recipe).aggregate(first=Min("send_after"))["first"]
    return until if lost is None else min(until, lost)

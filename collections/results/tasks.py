"""What drives collections: the poll, and the step of one recipe, alone. What it waits for, or how it fails,
holds up no other.

Tasks carry identifiers only; each is safe to run at any time, even twice.
"""

from contextlib import suppress
from datetime import datetime, timedelta

import structlog
from celery import shared_task
from django.db.models import Min

from partners.recipe_document import SIMULATION_LIFETIME
from publishing.publication import recipe_close
from recipes.errors import RecipeStateError, UnreadableRecipeError
from recipes.models import NextStep, Recipe
from recipes.steps import LONGEST_REST, step_turn
from results.aggregation.models import Chunk
from results.aggregation.tasks import steps_send
from results.operations import result_release
from results.outcomes import SourceLostError
from results.trust_models import collection_model_of
from storage import clock
from storage.columns import stored
from storage.periodic import PeriodicTask

logger = structlog.get_logger(__name__)

STEP_SECONDS = 240
"""For one step of a recipe; below the time limit of every task, so that its failure is noted."""

CLOSED_REST = timedelta(minutes=1)
"""Between two steps of a closed recipe that nothing marks."""

DOUBTED_REST = timedelta(minutes=1)
"""Between two steps of an open recipe that is over by a clock that is not believed yet."""


@shared_task(base=PeriodicTask)
def advance_collections() -> None:
    """Send a task for each recipe that has something to do."""
    steps_send()


@shared_task(soft_time_limit=STEP_SECONDS)
def advance_collection(identifier: str, claim: str | None = None) -> None:
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


def collection_advance(*, recipe: Recipe, now: datetime) -> None:
    """Bring an unfinished recipe one step on: close, plan, send, release.

    Reads only the database, so any process can run it at any time, even twice.

    Args:
        now: the time by which it is closed (`clock.settled_now`).

    Raises:
        UnreadableRecipeError: it waits for another version, or for an analyst to withhold its result.
        SourceLostError: until the source is back or the result given up.
    """
    model = collection_model_of(recipe)
    is_open = recipe.status == Recipe.Status.PUBLISHED
    if is_open and (closing_time(recipe) <= now or model.is_over(recipe)):
        with suppress(RecipeStateError):  # another process closed it in the meantime, which was the aim
            recipe_close(recipe=recipe, actor=None)
        recipe.refresh_from_db()
    model.advance(recipe)
    result_release(recipe=recipe)


def closing_time(recipe: Recipe) -> datetime:
    """When a published recipe is closed, whatever came."""
    if recipe.simulation:
        # Not bound by its times; but one whose command died must not stay open for good.
        return stored(recipe.published_at) + SIMULATION_LIFETIME
    return stored(recipe.closes_at)


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

"""Tasks carry identifiers only."""

import uuid
from functools import partial

from celery import current_app, shared_task
from django.db import transaction

from recipes.models import Recipe
from recipes.steps import steps_claim, steps_unclaim
from reports.operations import REPORT_STORES
from results.aggregation.models import Chunk
from results.aggregation.operations import chunk_process, chunks_plan, chunks_take
from storage.periodic import PeriodicTask

TASK = "results.tasks.advance_collection"
"""It is defined in a layer above."""


@shared_task
def process_chunk(chunk: str) -> None:
    """Take one chunk of reports a step on, and send for the next one of its recipe, behind what others wait
    for; after the last one, for the recipe's own step. Safe to run any number of times."""
    row = Chunk.objects.select_related("recipe").filter(pk=uuid.UUID(chunk)).first()
    if row is not None:
        chunk_process(chunk=row.pk)
        chunks_send(recipe=row.recipe)
        steps_send(only=row.recipe)


@shared_task(base=PeriodicTask)
def delete_ended_segments() -> None:
    """Delete from the object store what belongs to recipes that have a result. Safe to run at any time, even
    twice."""
    for store in REPORT_STORES:
        store.upkeep()


def chunks_send(*, recipe: Recipe) -> None:
    """Send the tasks of chunks that are to be taken in now, once this transaction is committed."""
    for chunk in chunks_take(recipe=recipe):
        transaction.on_commit(partial(process_chunk.delay, str(chunk)))


def sum_advance(*, recipe: Recipe, least: int | None = None) -> None:
    """Have workers take in what waits, and again what seems lost. May be called at any time, twice.

    Args:
        least: number of reports below which a closed recipe is not decrypted at all; its cohort size by
            default.
    """
    chunks_plan(recipe=recipe, least=least)
    chunks_send(recipe=recipe)


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

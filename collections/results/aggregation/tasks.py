"""Tasks carry identifiers only."""

import uuid
from functools import partial

from celery import shared_task
from django.db import transaction

from recipes.models import Recipe
from reports.operations import REPORT_STORES
from results.aggregation.models import Chunk
from results.aggregation.operations import chunk_process, chunks_take
from results.aggregation.step_tasks import steps_send
from storage.periodic import PeriodicTask


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

"""Tasks carry identifiers only."""

import uuid
from functools import partial

from celery import shared_task
from django.db import transaction

from aggregation.models import Chunk
from aggregation.operations import chunk_process, chunks_take
from recipes.models import Recipe


@shared_task
def process_chunk(chunk: str) -> None:
    """Take in one chunk of reports, and send for the next one of its recipe, behind what others wait for;
    safe to run any number of times."""
    row = Chunk.objects.select_related("recipe").filter(pk=uuid.UUID(chunk)).first()
    if row is not None:
        chunk_process(chunk=row.pk)
        chunks_send(recipe=row.recipe)


def chunks_send(*, recipe: Recipe) -> None:
    """Send the tasks of chunks that are to be taken in now, once this transaction is committed."""
    for chunk in chunks_take(recipe=recipe):
        transaction.on_commit(partial(process_chunk.delay, str(chunk)))

"""Tasks carry identifiers only."""

import uuid

from celery import shared_task

from aggregation.operations import chunk_process


@shared_task
def process_chunk(chunk: str) -> None:
    """Take in one chunk of reports; safe to run any number of times."""
    chunk_process(chunk=uuid.UUID(chunk))

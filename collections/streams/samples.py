"""Which items of a stream have a cell, as read from the database."""

from functools import lru_cache
from uuid import UUID

from panprivacy.statistics.streams.sample import Sample
from storage.sealing import secret_seal, secret_unseal
from streams.models import StreamSample

KIND = b"stream sample\n"
MOST_CACHED = 4
"""Samples that a process keeps: of a million items each, some tens of megabytes."""


def sample_seal(sample: Sample, stream_id: UUID) -> bytes:
    """The stored form."""
    return secret_seal(sample.to_bytes(), kind=KIND, owner=stream_id.bytes)


@lru_cache(maxsize=MOST_CACHED)
def sample_of(stream_id: UUID) -> Sample:
    """The sample of a stream. It never changes, so that it may be cached even when the stream is deleted.

    Raises:
        StreamSample.DoesNotExist: the stream is deleted.
    """
    sealed = StreamSample.objects.get(stream=stream_id).sealed
    return Sample.from_bytes(secret_unseal(sealed, kind=KIND, owner=stream_id.bytes))

"""What is in a stream, what can be read of it and where, and where a process may die."""

import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import numpy as np
import pytest
from cryptography.exceptions import InvalidTag
from django.conf import settings
from django.db import connection
from django.utils import timezone

from panprivacy.encryption.sealing import SealBrokenError, unseal
from panprivacy.statistics.streams.state import StreamState
from recipes.models import Recipe
from storage.key_slots import KeySlots
from streams import operations
from streams.models import Stream
from streams.operations import items_fold
from streams.sealed_state import STATE, _associated_data, key_slots, state_unseal
from tests.file_content import files_holding


def stream_of(recipe: Recipe) -> Stream:
    return Stream.objects.get(identifier=recipe.identifier)


def state_of(recipe: Recipe) -> StreamState:
    """A look at the live state."""
    return state_unseal(stream_of(recipe))


def fold(recipe: Recipe, items: Sequence[str], nonce: bytes | None = None) -> bytes:
    """Fold a batch in; its nonce."""
    nonce = nonce or secrets.token_bytes(16)
    items_fold(identifier=recipe.identifier, nonce=nonce, items=items, now=timezone.now())
    return nonce


def counted(recipe: Recipe, start: StreamState) -> list[int]:
    """How often each number was counted since `start`, by a statistic that counts far."""
    t = recipe.published.parameters.t
    ends = (state_of(recipe).arrays["counters"], start.arrays["counters"])
    now, before = (counters.astype(np.int64) for counters in ends)
    return [int(count) for count in (now - before) % t]


def opens(stream: Stream) -> bool:
    """Whether any key that is on the disk opens the state as this copy of the row has it."""
    for key in key_slots(stream.id).read_all().values():
        try:
            unseal(bytes(stream.state), key, _associated_data(stream, STATE))
        except (SealBrokenError, InvalidTag):
            continue
        return True
    return False


def keys_on_disk(stream: Stream) -> set[int]:
    """The versions whose keys are there."""
    return set(key_slots(stream.id).read_all())


def batch_body(items: Sequence[Any], nonce: bytes | None = None) -> dict[str, Any]:
    """A batch as JSON carries it."""
    return {"batch": (nonce or secrets.token_bytes(16)).hex(), "items": list(items)}


def in_files(needle: bytes) -> set[str]:
    """Files of the installation that hold it: database, its log, keys, caches, schedules."""
    return files_holding(needle, settings.DATA_DIR)


def in_database(needle: bytes) -> set[str]:
    """Tables that hold it."""
    found = set()
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names():
            cursor.execute(f'SELECT * FROM "{table}"')
            content = [bytes(v) if isinstance(v, memoryview) else v for row in cursor for v in row]
            if any(needle in (v if isinstance(v, bytes) else str(v).encode()) for v in content):
                found.add(table)
    return found


class CrashError(Exception):
    """The process is gone."""


def crash(*arguments: Any, **named: Any) -> None:
    raise CrashError


def after(function: Callable[..., Any]) -> Callable[..., Any]:
    """Crash once `function` has done its work."""

    def crashing(*arguments: Any, **named: Any) -> None:
        function(*arguments, **named)
        raise CrashError

    return crashing


CRASHES = {
    "before the next key is written": (KeySlots, "write", crash, False),
    "after the next key is written": (KeySlots, "write", after(KeySlots.write), False),
    "after the row is saved": (Stream, "save", after(Stream.save), False),
    "between commit and erasing": (operations, "sync_committed", crash, True),
    "after erasing": (KeySlots, "erase", after(KeySlots.erase), True),
}
"""Point → what is replaced there, and whether the next version is committed by then."""


@contextmanager
def crashing(owner: Any, name: str, replacement: Any = crash) -> Iterator[None]:
    """The process is gone where a function is called."""
    with pytest.MonkeyPatch.context() as patch, pytest.raises(CrashError):
        patch.setattr(owner, name, replacement)
        yield


def crashing_at(point: str) -> AbstractContextManager[None]:
    return crashing(*CRASHES[point][:3])


def is_committed_at(point: str) -> bool:
    return CRASHES[point][3]

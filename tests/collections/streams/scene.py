"""What is in a stream, and what can be read of it: looked at as nobody but a test does."""

import secrets
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from cryptography.exceptions import InvalidTag
from django.db import connection
from django.utils import timezone

from panprivacy.encryption.sealing import SealBrokenError, unseal
from panprivacy.streams.state import StreamState
from recipes.models import Recipe
from streams.models import Stream
from streams.operations import items_fold
from streams.sealed_state import STATE, _associated_data, key_slots, state_unseal


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


def in_thread(work: Callable[[], object]) -> threading.Thread:
    """What another process does meanwhile."""

    def run() -> None:
        try:
            work()
        finally:
            connection.close()

    thread = threading.Thread(target=run)
    thread.start()
    return thread


def batch_body(items: Sequence[Any], nonce: bytes | None = None) -> dict[str, Any]:
    """A batch as JSON carries it."""
    return {"batch": (nonce or secrets.token_bytes(16)).hex(), "items": list(items)}

"""The privacy losses of events: at once where they are quick or remembered, else by a task."""

import hashlib
import json
import time
from collections.abc import Sequence

from panprivacy.accounting.interface import PrivacyEvent
from panprivacy.accounting.remembered_loss import loss_prepare
from panprivacy.planning.checkpoint import OutOfTimeError
from planner import store
from planner.operations import checkpoint_until
from planner.sending import START_SECONDS, State, task_request, task_send

QUICK_SECONDS = 1.0
"""What a request may spend of the processor, and a point of a curve longer."""

TASK = "planner.tasks.compute_losses"


def losses_state(*, events: Sequence[PrivacyEvent]) -> State:
    """Whether composing these events takes no long computation any more; if not, a task is asked for it.

    Args:
        events: with no parts of their own.

    Returns:
        `COMPLETE`, or what keeps it from that. `NO_WORKER` also where no worker has begun in time.
    """
    key = _key(events)
    if not store.is_pending(key):
        checkpoint = checkpoint_until(QUICK_SECONDS, time.thread_time)
        try:
            for event in events:
                loss_prepare(event, checkpoint)
        except OutOfTimeError:
            return task_request(key, lambda slot: _send(events, slot))
        return State.COMPLETE
    return State.COMPUTING if store.is_waited_for(key) else State.NO_WORKER


def losses_compute(*, events: Sequence[PrivacyEvent], slot: int) -> None:
    """What the task does. It gives up where its slot is no longer its own."""
    key = _key(events)
    try:
        store.begun_note(key)
        for event in events:
            if store.slot_is_held(key, slot):
                loss_prepare(event, lambda: None)
    finally:
        store.slot_release(key, slot)


def _key(events: Sequence[PrivacyEvent]) -> str:
    document = json.dumps(["losses", store.LIBRARY, [event.as_dict() for event in events]], sort_keys=True)
    return hashlib.sha256(document.encode()).hexdigest()


def _send(events: Sequence[PrivacyEvent], slot: int) -> None:
    store.sent_note(_key(events), START_SECONDS)
    task_send(TASK, [event.as_dict() for event in events], slot)

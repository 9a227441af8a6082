"""What a recipe guarantees and costs: at once if it is quick or remembered, else by a task."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from panprivacy.accounting.interruption import interruptible
from panprivacy.accounting.number_cache import number_key
from panprivacy.formats.errors import FieldError
from panprivacy.planning.checkpoint import Checkpoint, OutOfTimeError
from panprivacy.recipe.draft import RecipeDraft
from panprivacy.recipe.rounds.draft import RoundsDraft
from recipes.errors import RecipeStateError
from recipes.planner import store
from recipes.planner.checkpoints import checkpoint_until
from recipes.planner.sending import START_SECONDS, State, task_request, task_send
from storage.connections import connection_release
from web.turns import BusyError, turn

REQUEST_SECONDS = 1.0
"""What a request may spend of the processor, and what it is at then longer: a point of a curve takes up to
0.3 s, a transform up to a second."""

TASK = "recipes.planner.tasks.compute_guarantees"

TASK_SECONDS = 150.0
"""What a worker may take, by the clock. Long enough for the slowest recipe known."""

Asked = RecipeDraft | RoundsDraft
"""One recipe, or one in rounds, for all of them."""

_WHY = {
    State.COMPUTING: "what it guarantees and costs is being computed; try again in some seconds",
    State.BUSY: "too much is being computed already; try again in a minute",
    State.NO_WORKER: "what it guarantees and costs takes a worker to compute, and none has begun: is one "
    "running, or are all busy?",
    State.TOO_LONG: "what it guarantees and costs takes longer to compute than a worker may; try again in "
    "some minutes, or with other parameters",
}

_under_way: set[str] = set()
_lock = threading.Lock()


class NotComputedError(RecipeStateError):
    """What a recipe guarantees and costs is not computed yet. It may be tried again.

    Attributes:
        state: how far it is.
    """

    def __init__(self, state: State) -> None:
        super().__init__(_WHY[state])
        self.state = state


class _UnderWayError(Exception):
    """Another request of this process computes it."""


def guarantees_state(*, asked: Asked) -> State:
    """Whether what it guarantees and costs is remembered from here on; if not, a task is asked for it.

    Returns:
        `COMPLETE`, or what keeps it from that. `NO_WORKER` even if no worker has begun in time.
    """
    anonymized = asked.anonymized
    key = _key(anonymized)
    if store.settled_get(key)[0]:
        return State.COMPLETE
    if store.is_pending(key):
        return State.COMPUTING if store.is_waited_for(key) else State.NO_WORKER
    connection_release()
    if _settled(anonymized, checkpoint_until(0.0, time.thread_time)):
        return State.COMPLETE
    if store.is_given_up(key):
        return State.TOO_LONG
    # A request that computed in vain once does not do so again, whether or not a worker answers.
    if not store.is_slow(key):
        try:
            with _alone(key), turn():
                if _settled(anonymized, checkpoint_until(REQUEST_SECONDS, time.thread_time)):
                    return State.COMPLETE
        except _UnderWayError:
            return State.COMPUTING
        except BusyError:
            return State.BUSY
        store.slow_note(key)
    return task_request(key, lambda slot: _send(anonymized, slot))


def guarantees_require(*, asked: Asked) -> None:
    """NotComputedError unless `guarantees_state` is complete."""
    state = guarantees_state(asked=asked)
    if state != State.COMPLETE:
        raise NotComputedError(state)


def promise_require(*, asked: Asked) -> None:
    """What `prepare` found, once `guarantees_state` is complete: to find out takes up to minutes.

    Raises:
        FieldError: the parameters cannot be met, or do not keep what the recipe states; with what would.
    """
    _, refusal = store.settled_get(_key(asked.anonymized))
    if refusal is not None:
        raise FieldError(*refusal)


def guarantees_compute(*, asked: Asked, slot: int) -> None:
    """What the task does. It gives up if its slot was given to another task, or its time is over: then it is
    not asked for again so soon, but what was finished of it stays remembered.

    Args:
        asked: `bare`.
    """
    key = _key(asked)
    if not store.slot_is_held(key, slot):
        return
    try:
        store.begun_note(key, slot)
        if not _settled(asked, checkpoint_until(TASK_SECONDS, time.monotonic)):
            store.given_up_note(key)
    except Exception:
        # The time limit of a task comes as an error too. Any other error would be repeated for as long as
        # pages ask.
        store.given_up_note(key)
        raise
    finally:
        store.slot_release(key, slot)


def _settled(anonymized: Asked, checkpoint: Checkpoint) -> bool:
    """Whether there was time for all of it; noted then."""
    refusal = None
    try:
        with interruptible(checkpoint):
            anonymized.prepare()
    except OutOfTimeError:
        return False
    except FieldError as error:
        refusal = error.field, error.message
    store.settled_note(_key(anonymized), refusal)
    return True


@contextmanager
def _alone(key: str) -> Iterator[None]:
    with _lock:
        if key in _under_way:
            raise _UnderWayError
        _under_way.add(key)
    try:
        yield
    finally:
        with _lock:
            _under_way.discard(key)


def _key(anonymized: Asked) -> str:
    return number_key("guarantees", anonymized.as_dict())


def _send(anonymized: Asked, slot: int) -> None:
    store.sent_note(_key(anonymized), START_SECONDS)
    task_send(TASK, anonymized.as_dict(), slot)

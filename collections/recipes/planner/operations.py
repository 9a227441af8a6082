"""Answering a question: at once what is quick, the rest by a task."""

import threading
import time
from dataclasses import dataclass
from typing import Any

from panprivacy.accounting.number_cache import cache_read_only
from panprivacy.planning.plan import Depth, Plan, Question, plan_of
from recipes.planner import store
from recipes.planner.checkpoints import checkpoint_until
from recipes.planner.sending import State, task_request, task_send
from storage.connections import connection_release
from web.turns import turn

QUICK_SECONDS = 0.18
"""What a request may spend of the processor: on a busy machine it waits longer, and answers as much. A
computation under way then is finished, which takes up to 0.3 s."""

FIRST_SECONDS = 0.8
"""What the first one of a process may spend beyond that: it loads what all later ones find loaded."""

TASK_SECONDS = 90.0
"""What a task may spend. A computation under way then is finished, which takes up to some seconds: with
`sending.START_SECONDS` well below `store.PENDING_SECONDS`, so that no task outlives its slot."""

TASK = "recipes.planner.tasks.compute_plan"

_is_first = threading.Lock()
"""Taken for good by the first request that computes."""


@dataclass(frozen=True)
class Answer:
    """A plan as `Plan.as_dict` gives it, and how far it is.

    Attributes:
        begun: whether the plan is the first part of what a task has computed.
    """

    plan: dict[str, Any]
    state: State
    begun: bool = False


def plan_answer(*, question: Question) -> Answer:
    """The plan as far as it is known or quickly computed; what is missing is given to a task.

    Raises:
        FieldError: the proposal's mechanism cannot be computed.
        BusyError: too many requests compute plans right now.
    """
    key = store.key_of(question)
    known = store.result_get(key)
    if known is not None:
        return Answer(known, _state_of(known))
    begun = store.begun_get(key)
    if begun is not None and store.is_pending(key):
        return Answer(begun, State.COMPUTING, begun=True)
    connection_release()
    with turn():
        plan = plan_quick(question)
    return Answer(plan.as_dict(), task_request(key, lambda slot: _send(question, slot)))


def plan_state(*, question: Question) -> State:
    """How far the task for a question is; never starts one."""
    key = store.key_of(question)
    known = store.result_get(key)
    if known is not None:
        return _state_of(known)
    return State.COMPUTING if store.is_pending(key) else State.NO_WORKER


def plan_begun(*, question: Question) -> bool:
    """Whether a task has computed a first part that is more than a request computes by itself."""
    return store.begun_get(store.key_of(question)) is not None


def plan_compute(*, question: Question, slot: int) -> None:
    """What the task does: compute and keep everything there is time for, the answer first.

    It gives up if its slot was given to another task.
    """
    key = store.key_of(question)
    checkpoint = checkpoint_until(TASK_SECONDS, time.monotonic)
    try:
        # Anyone may ask for plans: only their results are stored.
        with cache_read_only():
            if store.slot_is_held(key, slot) and store.result_get(key) is None:
                store.begun_put(key, plan_of(question, checkpoint, Depth.SOLVED).as_dict())
                if store.slot_is_held(key, slot):
                    store.result_put(key, plan_of(question, checkpoint).as_dict())
    finally:
        store.slot_release(key, slot)


def plan_give_up(*, question: Question) -> None:
    """Keep the first part of a plan, if there is one, as all that could be computed."""
    key = store.key_of(question)
    begun = store.begun_get(key)
    if begun is not None:
        store.result_put(key, begun)


def _state_of(plan: dict[str, Any]) -> State:
    return State.COMPLETE if plan["complete"] else State.TOO_LONG


def plan_quick(question: Question) -> Plan:
    """As much of a plan as a request may take time for."""
    seconds = QUICK_SECONDS + (FIRST_SECONDS if _is_first.acquire(blocking=False) else 0.0)
    with cache_read_only():
        return plan_of(question, checkpoint_until(seconds, time.thread_time), Depth.QUICK)


def _send(question: Question, slot: int) -> None:
    task_send(TASK, question.as_dict(), slot)

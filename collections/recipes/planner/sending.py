"""Giving a computation to a worker: once for each key, and no more at a time than there are slots."""

from collections.abc import Callable
from enum import StrEnum
from typing import Any

import structlog
from celery import current_app
from kombu.exceptions import OperationalError

from recipes.planner import store

logger = structlog.get_logger(__name__)

START_SECONDS = 60
"""How long a task may wait for a worker; then none begins it."""

BROKER_SECONDS = 1
"""How long the broker may take to accept a task."""

SILENT_SECONDS = 15
"""How long a broker that did not is not asked again."""


class State(StrEnum):
    """How far a computation is."""

    COMPLETE = "complete"
    COMPUTING = "computing"
    """A task computes the rest; ask again."""

    BUSY = "busy"
    """Too many tasks are under way; ask again later."""

    NO_WORKER = "no_worker"
    """No task could be sent, or none has answered."""

    TOO_LONG = "too_long"
    """The task had no time for all of it."""


def task_request(key: str, send: Callable[[int], None]) -> State:
    """Have a task compute the value of a key, unless one is under way.

    Args:
        send: sends the task, with the slot that it holds until it calls `store.slot_release`.
    """
    if store.broker_was_silent():
        return State.COMPUTING if store.is_pending(key) else State.NO_WORKER
    if not store.pending_take(key):
        return State.COMPUTING
    slot = store.slot_take(key)
    if slot is None:
        store.pending_release(key)
        return State.BUSY
    try:
        send(slot)
    except (OperationalError, OSError) as error:
        store.slot_release(key, slot)
        store.broker_note_silent(SILENT_SECONDS)
        logger.warning("plan_not_sent", error=type(error).__name__)
        return State.NO_WORKER
    return State.COMPUTING


def task_send(task: str, *arguments: Any) -> None:
    """Hand a task to the broker, which is waited for no longer than a request may.

    Args:
        task: by name, because the tasks import the modules that send them.
        arguments: plain values. They carry the question itself, unlike others: public numbers that are in no
            table.
    """
    options = {"socket_connect_timeout": BROKER_SECONDS, "socket_timeout": BROKER_SECONDS}
    with current_app.connection_for_write(
        connect_timeout=BROKER_SECONDS,
        transport_options={**current_app.conf.broker_transport_options, **options},
    ) as connection:
        current_app.send_task(task, arguments, connection=connection, retry=False, expires=START_SECONDS)

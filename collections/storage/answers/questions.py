"""Asking, and waiting for answers."""

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

import structlog
from celery import current_app
from django.db import IntegrityError, connection, transaction
from django.db.models import F
from django.utils import timezone
from kombu.exceptions import OperationalError

from panprivacy.accounting.number_cache import number_key
from panprivacy.formats.errors import FieldError
from storage import group_commit
from storage.answers.computation import answer_here
from storage.answers.kinds import Content, Kind
from storage.answers.models import Question
from storage.connections import connection_release

logger = structlog.get_logger(__name__)

DEADLINE_SECONDS = 2.0
"""How long a request waits for answers."""

PART_ENOUGH_SECONDS = 0.25
"""After this long, a part of an answer is enough."""

FIRST_PAUSE_SECONDS = 0.01
LONGEST_PAUSE_SECONDS = 0.02
"""Between two polls of the rows."""

LAST_PRIORITY = 9
"""Of messages that are not urgent; the broker's first one is 0."""

BROKER_SECONDS = 1
"""How long the broker may take to accept a message."""

SILENT_SECONDS = 15
"""How long a process does not ask a broker again that accepted none."""

COUNTING = 5
"""First number of the locks under which questions are counted: no others have two numbers."""

_silent_until = 0.0


class State(StrEnum):
    """How far an answer is."""

    COMPLETE = "complete"
    COMPUTING = "computing"
    """A worker computes it; ask again."""

    BUSY = "busy"
    """Too many questions wait; ask again later."""

    NO_WORKER = "no_worker"
    """The question could not be sent, or no worker has begun."""

    TOO_LONG = "too_long"
    """No worker could compute all of it: its time was over, or the computation failed."""


@dataclass(frozen=True)
class Asked:
    """A question.

    Attributes:
        content: plain values for JSON; the answer depends on these, and on stored rows that they name and
            that never change.
    """

    kind: Kind
    content: Content

    @property
    def key(self) -> str:
        """The same for equal questions to the same version of the software."""
        return number_key(self.kind.name, self.kind.version, self.content)


@dataclass(frozen=True)
class Answer:
    """An answer as far as it is there.

    Attributes:
        content: None before its first part.
        refusal: in place of content, if the answer is a refusal.
    """

    state: State
    content: Any = None
    refusal: FieldError | None = None

    @property
    def complete(self) -> bool:
        """Whether nothing is missing."""
        return self.state is State.COMPLETE


def ask(kind: Kind, content: Content) -> Answer:
    """The answer to one question, as `ask_all`. FieldError if it is a refusal."""
    (answer,) = ask_all([Asked(kind, content)])
    if answer.refusal is not None:
        raise answer.refusal
    return answer


def ask_all(questions: Sequence[Asked], *, seconds: float | None = None, here: bool = False) -> list[Answer]:
    """The answers to several questions, in their order.

    In a process that serves requests, workers compute what is not known yet, and all are waited for until
    one deadline. Any other process computes them here. Not to be called in a transaction of a request:
    workers would not see the questions.

    Args:
        seconds: how long to wait for them; `DEADLINE_SECONDS` if None.
        here: whether to compute them in this process, whatever it serves.
    """
    known = {row.key: row for row in Question.objects.filter(key__in={one.key for one in questions})}
    if here or not group_commit.serves():
        return [_answer(known.get(one.key)) or _computed(one) for one in questions]
    now = timezone.now()
    refused: dict[str, State] = {}
    for one in questions:
        if _is_to_be_sent(known.get(one.key), now) and (state := _send(one, known.get(one.key), now)):
            refused[one.key] = state
    waiting = [one.key for one in questions if one.key not in refused]
    rows = _awaited(waiting, DEADLINE_SECONDS if seconds is None else min(seconds, DEADLINE_SECONDS))
    return [
        Answer(refused[one.key]) if one.key in refused else _state_of(rows.get(one.key)) for one in questions
    ]


def peek(kind: Kind, content: Content) -> Answer | None:
    """What is there, without asking; None if the question is not known."""
    row = Question.objects.filter(key=Asked(kind, content).key).first()
    return None if row is None else _state_of(row)


def forget(questions: Sequence[Asked]) -> None:
    """Have these answered anew when they are asked again."""
    Question.objects.filter(key__in={one.key for one in questions}).delete()


def _computed(one: Asked) -> Answer:
    return _state_of(answer_here(key=one.key, kind=one.kind, content=one.content))


def _answer(row: Question | None) -> Answer | None:
    """Of a question that was answered; None if it must be computed."""
    return _state_of(row) if row is not None and row.complete else None


def _state_of(row: Question | None) -> Answer:
    if row is None:
        return Answer(State.COMPUTING)
    if row.refusal is not None:
        return Answer(State.COMPLETE, refusal=FieldError(*row.refusal))
    if row.ended_at is not None:
        return Answer(State.COMPLETE if row.complete else State.TOO_LONG, row.answered)
    lost = row.begun_at is None and row.sendings > 1
    return Answer(State.NO_WORKER if lost else State.COMPUTING, row.answered)


def _is_to_be_sent(row: Question | None, now: datetime) -> bool:
    """Whether it is new, was lost with a worker or its message, or has rested."""
    if row is None:
        return True
    if row.ended_at is not None:
        return not row.complete and row.due_at <= now
    return row.due_at <= now


def _send(one: Asked, row: Question | None, now: datetime) -> State | None:
    """Have a worker answer it; None, or why that is not possible. Of several requests at once, one sends."""
    global _silent_until
    if time.monotonic() < _silent_until:
        return State.NO_WORKER
    with transaction.atomic():
        _one_at_a_time(one.kind)
        unanswered = Question.objects.filter(kind=one.kind.name, ended_at=None, due_at__gt=now)
        if unanswered.count() >= one.kind.most:
            return State.BUSY
        if not _claimed(one, row, now):
            return None
    try:
        _message(one)
    except (OperationalError, OSError) as error:
        waiting = Question.objects.filter(key=one.key, begun_at=None, ended_at=None)
        if row is None:
            waiting.delete()
        else:
            waiting.update(due_at=now)
        _silent_until = time.monotonic() + SILENT_SECONDS
        logger.warning("question_not_sent", error=type(error).__name__)
        return State.NO_WORKER
    return None


def _one_at_a_time(kind: Kind) -> None:
    """Until the end of the transaction, no other one counts the questions of this kind. SQLite has one writer
    anyway."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s, hashtext(%s))", [COUNTING, kind.name])


def _claimed(one: Asked, row: Question | None, now: datetime) -> bool:
    """Whether this request is the one that sends it; the row is then there."""
    if row is None:
        made = Question(key=one.key, kind=one.kind.name, content=json.dumps(one.content), asked_at=now)
        made.due_at, made.sendings = now + one.kind.lane.start_time, 1
        try:
            with transaction.atomic():
                made.save(force_insert=True)
        except IntegrityError:
            return False
        return True
    # A second message for the same question is passed over (`computation`).
    with transaction.atomic():
        locked = Question.objects.filter(key=row.key, due_at=row.due_at, ended_at=row.ended_at)
        return bool(
            locked.update(
                asked_at=now,
                due_at=now + one.kind.lane.start_time,
                sendings=1 if row.begun_at else F("sendings") + 1,
                begun_at=None,
                ended_at=None,
            )
        )


def _message(one: Asked) -> None:
    """It carries the key alone."""
    options = {"socket_connect_timeout": BROKER_SECONDS, "socket_timeout": BROKER_SECONDS}
    with current_app.connection_for_write(
        connect_timeout=BROKER_SECONDS,
        transport_options={**current_app.conf.broker_transport_options, **options},
    ) as connection:
        expires = one.kind.lane.start_time.total_seconds()
        current_app.send_task(
            one.kind.lane.task,
            [one.key],
            connection=connection,
            retry=False,
            expires=expires,
            priority=0 if one.kind.urgent else LAST_PRIORITY,
        )


def _awaited(keys: Sequence[str], seconds: float) -> dict[str, Question]:
    """The rows, once every answer has ended or the deadline has passed."""
    began, pause = time.monotonic(), FIRST_PAUSE_SECONDS
    while True:
        rows = {row.key: row for row in Question.objects.filter(key__in=keys)}
        passed = time.monotonic() - began
        enough = [row.ended_at or (row.answer and passed >= PART_ENOUGH_SECONDS) for row in rows.values()]
        hopeless = any(_state_of(row).state is State.NO_WORKER for row in rows.values())
        if all(enough) or hopeless or passed >= seconds:
            return rows
        connection_release()
        time.sleep(pause)
        pause = min(1.5 * pause, LONGEST_PAUSE_SECONDS)

"""What workers do: compute an answer into its row."""

import json
import time
from datetime import datetime, timedelta
from typing import Any

import structlog
from billiard.exceptions import SoftTimeLimitExceeded
from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.module_loading import autodiscover_modules

from panprivacy.formats.errors import FieldError
from storage.answers.kinds import KINDS, Content, Kind
from storage.answers.models import Question
from storage.connections import connection_release

logger = structlog.get_logger(__name__)

OVERTIME = timedelta(seconds=10)
"""Time a worker may take beyond its limit: the step under way is not interrupted."""

GIVEN_UP_REST = timedelta(minutes=5)
"""Pause before a question that took a worker too long is sent again."""

FAILED_REST = timedelta(seconds=20)
"""Pause before a question whose computation failed is sent again: the database may not answer."""

STORE_PART_SECONDS = 0.1
"""How often parts of an answer are stored."""

KEPT_TIME = timedelta(days=1)
"""Time for which an answer is kept."""

MOST_KEPT = 1_000
"""Answers of each kind that are kept, the newest ones: anyone may ask for plans."""


def answer_stored(*, key: str) -> None:
    """Answer a question, unless another worker is at it or has answered it; safe to run twice.

    If time runs out, the last part stays, and the question rests.
    """
    autodiscover_modules("answers")
    now = timezone.now()
    free = Q(begun_at=None) | Q(due_at__lte=now)
    row = Question.objects.filter(free, key=key, ended_at=None).first()
    if row is None or row.kind not in KINDS:
        return
    kind = KINDS[row.kind]
    lease = timedelta(seconds=kind.lane.seconds) + OVERTIME
    begun = Question.objects.filter(free, key=key, ended_at=None).update(begun_at=now, due_at=now + lease)
    if begun:
        _answer(row, kind, now)


def answer_here(*, key: str, kind: Kind, content: Content) -> Question:
    """Answer a question in this process, and keep the answer.

    Returns:
        The row, which other processes find.
    """
    asked = json.loads(json.dumps(content))
    now = timezone.now()
    made = Question(key=key, kind=kind.name, content=json.dumps(content), asked_at=now, due_at=now)
    connection_release()
    try:
        for part in kind.function(asked):
            made.answer = json.dumps(part)
    except FieldError as error:
        made.refusal = [error.field, error.message]
    made.ended_at, made.complete = timezone.now(), True
    # Another process may have answered it meanwhile, with the same.
    Question.objects.bulk_create(
        [made],
        update_conflicts=True,
        unique_fields=["key"],
        update_fields=["answer", "refusal", "asked_at", "ended_at", "complete"],
    )
    return made


def old_answers_delete() -> None:
    """Delete the answers that are not kept, and questions that no worker has answered and no one asks any
    more."""
    before = timezone.now() - KEPT_TIME
    Question.objects.filter(asked_at__lt=before).delete()
    # Which kinds there are is known only where they were loaded.
    for kind in Question.objects.values_list("kind", flat=True).distinct():
        newest = Question.objects.filter(kind=kind).order_by("-asked_at", "pk")
        last = newest[MOST_KEPT : MOST_KEPT + 1].values_list("asked_at", flat=True).first()
        if last is not None:
            newest.filter(asked_at__lte=last).delete()


def _answer(row: Question, kind: Kind, begun_at: datetime) -> None:
    # What another process completed, or began after our time was over, is not overwritten.
    ours = Question.objects.filter(key=row.key, begun_at=begun_at, ended_at=None)
    part: Content | None = None
    stored = time.monotonic()
    connection_release()
    try:
        for part in kind.function(row.asked):
            # Not each: a quick answer is stored at once, as a whole.
            if time.monotonic() - stored >= STORE_PART_SECONDS:
                ours.update(answer=json.dumps(part))
                stored = time.monotonic()
    except FieldError as error:
        _end(ours, part, refusal=[error.field, error.message])
    except SoftTimeLimitExceeded:
        logger.warning("answer_given_up", kind=row.kind)
        _end(ours, part, rest=GIVEN_UP_REST)
    except Exception:
        # It would be repeated for as long as pages ask.
        _end(ours, part, rest=FAILED_REST)
        raise
    else:
        _end(ours, part)


def _end(
    ours: QuerySet[Question],
    part: Content | None,
    *,
    rest: timedelta | None = None,
    refusal: list[str] | None = None,
) -> None:
    """`rest`: for which it is not sent again; None of a complete answer."""
    now = timezone.now()
    ended: dict[str, Any] = {"ended_at": now, "complete": rest is None, "refusal": refusal}
    if rest is not None:
        ended["due_at"] = now + rest
    if part is not None:
        ended["answer"] = json.dumps(part)
    ours.update(**ended)

"""Requests that ask, and workers that answer when a test says so."""

import json
from datetime import timedelta

import pytest
from django.utils import timezone

from storage import group_commit
from storage.answers import questions
from storage.answers.computation import answer_stored
from storage.answers.kinds import Content, Lane
from storage.answers.models import Question
from storage.answers.questions import Asked


def workers_answer(
    monkeypatch: pytest.MonkeyPatch, waits: float = 0.0, *, previews: bool = False
) -> list[str]:
    """This process serves requests, and no worker runs but `work`.

    Args:
        waits: how many seconds a request waits for an answer.
        previews: whether previews are answered at once.

    Returns:
        The keys of the other questions sent, in their order.
    """
    sent: list[str] = []
    monkeypatch.setattr(group_commit, "_serving", True)
    monkeypatch.setattr(questions, "DEADLINE_SECONDS", waits)

    def message(one: Asked) -> None:
        if previews and one.kind.lane in (Lane.PREVIEWS, Lane.QUICK_PLANS):
            answer_stored(key=one.key)
        else:
            sent.append(one.key)

    monkeypatch.setattr(questions, "_message", message)
    return sent


def work(sent: list[str]) -> None:
    """Answer all that was sent."""
    while sent:
        answer_stored(key=sent.pop(0))


def begin(key: str, part: Content) -> None:
    """A worker has computed this part, and is at the rest."""
    now = timezone.now()
    Question.objects.filter(key=key).update(
        answer=json.dumps(part), begun_at=now, due_at=now + timedelta(minutes=1)
    )


def leases_end() -> None:
    """Every worker has had the time to begin and to answer."""
    Question.objects.filter(ended_at=None).update(due_at=timezone.now() - timedelta(seconds=1))

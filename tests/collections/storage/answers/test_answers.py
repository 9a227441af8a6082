"""A question is answered once, by any worker, and kept; nothing grows with the number of questions."""

import threading
import time
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import pytest
from billiard.exceptions import SoftTimeLimitExceeded
from django.db import connection
from django.utils import timezone
from kombu.exceptions import OperationalError

from panprivacy.accounting import number_cache
from panprivacy.formats.errors import FieldError
from storage.answers import computation, questions
from storage.answers.computation import (
    FAILED_REST,
    GIVEN_UP_REST,
    answer_here,
    answer_stored,
    old_answers_delete,
)
from storage.answers.kinds import KINDS, Content, Kind, Lane, declared
from storage.answers.models import Question
from storage.answers.questions import Asked, State, ask, ask_all, peek
from tests.collections.storage.answers.scene import leases_end, work, workers_answer
from tests.concurrency import at_once
from tests.refusals import field_refused, raising

pytestmark = pytest.mark.django_db

MOST = 3


@pytest.fixture
def computed() -> list[Any]:
    """What was computed."""
    return []


@pytest.fixture
def doubling(computed: list[Any]) -> Iterator[Kind]:
    """A kind of question: twice a number, first its sign."""

    def double(asked: Any) -> Iterator[Content]:
        computed.append(asked["number"])
        if asked["number"] == -13:
            raise FieldError("number", "is unlucky")
        yield {"positive": asked["number"] > 0}
        yield {"positive": asked["number"] > 0, "double": 2 * asked["number"]}

    yield declared("doubling", double, Lane.PREVIEWS, most=MOST)
    del KINDS["doubling"]


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    return workers_answer(monkeypatch)


def row() -> Question:
    return Question.objects.get()


def test_process_without_requests_computes_once(doubling: Kind, computed: list[Any]) -> None:
    for _ in range(3):
        assert ask(doubling, {"number": 2}).content == {"positive": True, "double": 4}
    assert computed == [2]
    assert row().complete


def test_request_computes_nothing_and_finds_what_a_worker_answered(
    doubling: Kind, computed: list[Any], sent: list[str]
) -> None:
    first = ask(doubling, {"number": 2})
    assert (first.state, first.content, computed) == (State.COMPUTING, None, [])
    assert ask(doubling, {"number": 2}).state is State.COMPUTING
    assert len(sent) == 1, "a question that waits is not sent again"
    work(sent)
    for _ in range(3):
        answer = ask(doubling, {"number": 2})
        assert (answer.state, answer.content["double"]) == (State.COMPLETE, 4)
    assert (computed, sent) == ([2], [])


def test_answer_for_other_content_or_another_version_is_never_used(
    doubling: Kind, sent: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ask(doubling, {"number": 2})
    work(sent)
    assert ask(doubling, {"number": 3}).content is None
    assert peek(doubling, {"number": 2.5}) is None
    monkeypatch.setattr(number_cache, "SOFTWARE", ("another",))
    assert ask(doubling, {"number": 2}).content is None


def test_refusal_is_an_answer_and_is_kept(doubling: Kind, computed: list[Any], sent: list[str]) -> None:
    ask(doubling, {"number": -13})
    work(sent)
    for _ in range(2):
        with field_refused("number", "is unlucky"):
            ask(doubling, {"number": -13})
    assert computed == [-13]


def test_infinity_survives_its_row(doubling: Kind, sent: list[str]) -> None:
    ask(doubling, {"number": float("inf")})
    work(sent)
    assert ask(doubling, {"number": float("inf")}).content["double"] == float("inf")


def test_too_many_questions_are_refused_and_leave_nothing(
    doubling: Kind, computed: list[Any], sent: list[str]
) -> None:
    states = [ask(doubling, {"number": number}).state for number in range(1, 100)]
    assert states == [State.COMPUTING] * MOST + [State.BUSY] * (99 - MOST)
    assert Question.objects.count() == len(sent) == MOST
    work(sent)
    assert ask(doubling, {"number": 99}).state is State.COMPUTING


@pytest.mark.skipif(not connection.features.has_select_for_update, reason="SQLite has one writer")
@pytest.mark.django_db(transaction=True)
def test_burst_leaves_no_more_questions_than_may_wait(doubling: Kind, sent: list[str]) -> None:
    asked = (partial(ask, doubling, {"number": number}) for number in range(4 * MOST))
    states = [answer.state for answer in at_once(*asked)]
    assert states.count(State.BUSY) == 3 * MOST
    assert Question.objects.count() == len(sent) == MOST


def test_answers_of_a_flood_are_deleted_but_for_the_newest(
    doubling: Kind, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(computation, "MOST_KEPT", 5)
    for number in range(1, 20):
        ask(doubling, {"number": number})
    old_answers_delete()
    kept = {row.asked["number"] for row in Question.objects.all()}
    assert kept == {15, 16, 17, 18, 19}
    Question.objects.update(asked_at=timezone.now() - 2 * computation.KEPT_TIME)
    old_answers_delete()
    assert not Question.objects.exists()


def test_question_of_a_dead_worker_is_answered_by_another(
    doubling: Kind, sent: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ask(doubling, {"number": 2})
    with monkeypatch.context() as killed, pytest.raises(KeyboardInterrupt):
        killed.setattr(computation, "_answer", raising(KeyboardInterrupt))
        answer_stored(key=sent.pop())
    assert ask(doubling, {"number": 2}).state is State.COMPUTING
    assert sent == [], "its lease holds"
    leases_end()
    assert ask(doubling, {"number": 2}).state is State.COMPUTING
    assert len(sent) == 1
    work(sent)
    assert ask(doubling, {"number": 2}).content["double"] == 4


def test_slow_worker_does_not_overwrite_what_another_process_completed(
    sent: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(computation, "STORE_PART_SECONDS", 0)
    meanwhile: list[Callable[[], object]] = []

    def slowly(asked: Any) -> Iterator[Content]:
        while meanwhile:
            meanwhile.pop()()
        yield {"part": 1}
        yield {"part": 1, "rest": 2}

    kind = declared("slow", slowly)
    try:
        question = Asked(kind, {})
        ask(kind, {})
        meanwhile.append(lambda: answer_here(key=question.key, kind=kind, content={}))
        answer_stored(key=sent.pop())
        assert ask(kind, {}).content == {"part": 1, "rest": 2}
        assert row().complete
    finally:
        del KINDS["slow"]


def test_lease_is_longer_than_a_worker_may_take(doubling: Kind, sent: list[str]) -> None:
    ask(doubling, {"number": 2})
    began: list[timedelta] = []
    Question.objects.update(begun_at=None)

    def look(*_: Any) -> None:
        began.append(row().due_at - timezone.now())

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(computation, "_answer", look)
        answer_stored(key=sent.pop())
    assert began[0] > timedelta(seconds=Lane.PREVIEWS.seconds + 5)


def test_message_that_comes_twice_is_answered_once(
    doubling: Kind, computed: list[Any], sent: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ask(doubling, {"number": 2})
    answer = computation._answer

    def meanwhile(question: Question, kind: Kind, begun_at: datetime) -> None:
        answer_stored(key=question.key)
        answer(question, kind, begun_at)

    monkeypatch.setattr(computation, "_answer", meanwhile)
    work([*sent, *sent])
    assert computed == [2]


def test_no_worker_is_said_once_a_message_was_lost(doubling: Kind, sent: list[str]) -> None:
    ask(doubling, {"number": 2})
    leases_end()
    assert ask(doubling, {"number": 2}).state is State.NO_WORKER
    work(sent[:1])
    assert ask(doubling, {"number": 2}).state is State.COMPLETE


def test_broker_that_is_down_is_asked_once_and_leaves_nothing(
    doubling: Kind, monkeypatch: pytest.MonkeyPatch
) -> None:
    workers_answer(monkeypatch)
    tried: list[str] = []

    def refuse(one: Asked) -> None:
        tried.append(one.key)
        raise OperationalError

    monkeypatch.setattr(questions, "_message", refuse)
    monkeypatch.setattr(questions, "_silent_until", 0.0)
    assert [ask(doubling, {"number": number}).state for number in (1, 2, 3)] == [State.NO_WORKER] * 3
    assert len(tried) == 1
    assert not Question.objects.exists()


@pytest.mark.parametrize(
    ("end", "rest"), [(SoftTimeLimitExceeded, GIVEN_UP_REST), (ZeroDivisionError, FAILED_REST)]
)
def test_answer_that_ends_too_soon_keeps_its_part_and_rests(
    sent: list[str], end: type[Exception], rest: timedelta, computed: list[Any]
) -> None:
    def part(asked: Any) -> Iterator[Content]:
        computed.append(asked)
        yield {"part": 1}
        raise end

    kind = declared("parts", part)
    try:
        ask(kind, {})
        with pytest.raises(end) if end is ZeroDivisionError else pytest.MonkeyPatch.context():
            work(sent)
        for _ in range(3):
            answer = ask(kind, {})
            assert (answer.state, answer.content) == (State.TOO_LONG, {"part": 1})
        assert sent == []
        row = Question.objects.get()
        assert row.due_at - row.ended_at == rest
        Question.objects.update(due_at=timezone.now())
        assert ask(kind, {}).state is State.COMPUTING
        assert len(sent) == 1
    finally:
        del KINDS["parts"]


def test_several_questions_share_one_deadline(doubling: Kind, monkeypatch: pytest.MonkeyPatch) -> None:
    workers_answer(monkeypatch, waits=0.3)
    began = time.monotonic()
    found = ask_all([Asked(doubling, {"number": number}) for number in range(1, 1 + MOST)])
    assert [one.state for one in found] == [State.COMPUTING] * MOST
    assert 0.3 <= time.monotonic() - began < 0.3 * MOST


@pytest.mark.django_db(transaction=True)
def test_request_waits_for_the_answer_and_no_longer(doubling: Kind, monkeypatch: pytest.MonkeyPatch) -> None:
    workers_answer(monkeypatch, waits=30.0)
    monkeypatch.setattr(questions, "_message", _later(0.2))
    began = time.monotonic()
    assert ask(doubling, {"number": 2}).content["double"] == 4
    assert time.monotonic() - began < 20.0


def _later(seconds: float) -> Callable[[Asked], None]:
    """A worker that takes this long."""

    def answer(key: str) -> None:
        time.sleep(seconds)
        answer_stored(key=key)
        connection.close()

    return lambda one: threading.Thread(target=answer, args=[one.key]).start()

"""Many devices at once, and one device that asks more than once at the same moment."""

import threading
import time
from collections.abc import Sequence
from functools import partial

import pytest
from django.db import connection
from django.http import HttpResponse

from tests.collections.tokens.attester.scene import FakeIssuer, KeyedDevice, ask, problem
from tests.concurrency import at_once
from tokens.attester import limits, views
from tokens.attester.enrolment import devices_enrol
from tokens.attester.issuer import Evaluated
from tokens.attester.models import Issued

pytestmark = pytest.mark.django_db(transaction=True)


def test_two_that_race_with_one_key_get_one_token(issuer: FakeIssuer) -> None:
    device, asked = KeyedDevice().enrolled(), [ask(issuer) for _ in range(4)]
    answers = at_once(*(partial(device.post, each.capsule) for each in asked))
    statuses = [answer.status_code for answer in answers]
    assert sorted(statuses) == [200, 409, 409, 409]
    winner = statuses.index(200)
    assert asked[winner].token(answers[winner].content)
    device.post(ask(issuer).capsule)
    # What was withheld is told with later requests, and the last one is still to be.
    assert issuer.issued <= 2
    assert Issued.objects.count() == 1


def test_same_capsule_sent_several_times_at_once_gets_one_answer(issuer: FakeIssuer) -> None:
    device, asked = KeyedDevice().enrolled(), ask(issuer)
    answers = at_once(*[partial(device.post, asked.capsule)] * 4)
    assert {(answer.status_code, answer.content) for answer in answers} == {(200, answers[0].content)}
    assert asked.token(answers[0].content)
    assert (Issued.objects.count(), issuer.issued) == (1, 1)


def test_devices_asking_at_once_all_get_a_token(issuer: FakeIssuer, monkeypatch: pytest.MonkeyPatch) -> None:
    """30 devices ask over 8 threads, as a web process has; a device that is put off asks again."""
    known = [KeyedDevice() for _ in range(30)]
    devices_enrol(devices={f"device {number}": device.public for number, device in enumerate(known)})
    monkeypatch.setattr(views, "TURNS", limits.Turns(3))
    now, most, lock = 0, 0, threading.Lock()
    answer = issuer.answer

    def counting(element: bytes, capsule: bytes, withheld: Sequence[bytes]) -> Evaluated:
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        try:
            time.sleep(0.001)
            with lock:
                return answer(element, capsule, withheld)
        finally:
            with lock:
                now -= 1

    monkeypatch.setattr(issuer, "answer", counting)
    waiting = [(device, ask(issuer)) for device in known]

    def work() -> None:
        while waiting:
            try:
                device, asked = waiting.pop()
            except IndexError:
                return
            response: HttpResponse = device.post(asked.capsule)
            if response.status_code == 200:
                assert asked.token(response.content)
            else:
                assert problem(response) == (503, "/problems/unavailable")
                waiting.insert(0, (device, asked))

    at_once(*[work] * 8)
    assert most <= 3
    assert Issued.objects.count() == issuer.issued == 30


def test_no_connection_is_held_while_the_issuer_is_asked(issuer: FakeIssuer) -> None:
    device, held = KeyedDevice().enrolled(), []

    def asked(when: str, body: bytes) -> bytes:
        held.append(connection.connection)
        return body

    issuer.breaks = asked
    assert device.post(ask(issuer).capsule).status_code == 200
    assert held == [None, None]


def test_request_without_a_turn_shall_come_again(issuer: FakeIssuer, monkeypatch: pytest.MonkeyPatch) -> None:
    turns = limits.Turns(1)
    monkeypatch.setattr(views, "TURNS", turns)
    turn = turns.turn
    monkeypatch.setattr(turns, "turn", lambda: turn(patience=0.01))
    device, asked = KeyedDevice().enrolled(), ask(issuer)
    with turn():
        answer = device.post(asked.capsule)
    assert problem(answer) == (503, "/problems/unavailable")
    assert (int(answer["Retry-After"]) > 0, issuer.asked) == (True, [])
    assert device.post(asked.capsule).status_code == 200

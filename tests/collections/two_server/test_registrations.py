"""Plain tasks, too, leave nothing behind at the helper when their beginning dies on the way."""

import secrets
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from dap.models import Side, Task
from leader import plain_tasks, tasks
from leader.errors import RegistrationOverError
from leader.models import Registration
from leader.plain_tasks import PlainTask, plain_task_create
from leader.registrations import registration_note, registrations_call_off
from peers.client import PeerUnavailableError
from tests.collections.two_server import scene
from tests.collections.two_server.scene import partner

pytestmark = pytest.mark.django_db

PLAIN = PlainTask(
    vdaf="prio3count", parameters={}, min_batch_size=3, batch_mode="time-interval", time_precision=3600
)


def create(transport: Any = scene.reached) -> Task:
    return plain_task_create(
        plain=PLAIN,
        partner=partner(transport),
        now=timezone.now(),
        random_source=secrets.SystemRandom(),
    )


def call_off(transport: Any = scene.reached) -> None:
    registrations_call_off(now=timezone.now() + timedelta(hours=1), transport=transport)


def sides_and_states() -> set[tuple[str, str]]:
    return set(Task.objects.values_list("side", "state"))


def test_create_of_a_plain_task_leaves_no_note() -> None:
    create()
    call_off()
    assert not Registration.objects.exists()
    assert sides_and_states() == {("leader", "open"), ("helper", "open")}


def test_create_that_dies_before_it_is_stored_is_ended_at_the_helper(monkeypatch: pytest.MonkeyPatch) -> None:
    def died(**_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(plain_tasks, "task_create", died)
    with pytest.raises(KeyboardInterrupt):
        create()
    assert sides_and_states() == {("helper", "open")}
    call_off()
    helper_task = Task.objects.get(side=Side.HELPER)
    assert (helper_task.state, helper_task.verify_key) == ("ended", None)
    assert not Registration.objects.exists()


def test_create_whose_answer_is_lost_is_ended_at_the_helper() -> None:
    with pytest.raises(PeerUnavailableError):
        create(scene.losing_answers("PUT"))
    call_off()
    assert sides_and_states() == {("helper", "ended")}


def test_create_that_was_called_off_meanwhile_begins_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    register = plain_tasks.plain_task_register

    def slow(*arguments: Any, **named: Any) -> None:
        register(*arguments, **named)
        call_off()

    monkeypatch.setattr(plain_tasks, "plain_task_register", slow)
    with pytest.raises(RegistrationOverError):
        create()
    assert sides_and_states() == {("helper", "ended")}


def test_call_off_asks_the_helper_of_each_note_and_a_silent_one_holds_up_no_other() -> None:
    asked = []

    def carry(method: str, url: str, headers: Any, body: bytes) -> Any:
        asked.append(url)
        raise ConnectionRefusedError

    urls = ("https://gone.example/helper", "https://gone.example/helper", scene.HELPER_URL)
    for number, url in enumerate(urls):
        other = replace(partner(), url=url)
        registration_note(task_id=bytes([number]) * 32, partner=other, now=timezone.now())
    call_off(carry)
    assert [url.partition("/tasks")[0] for url in asked] == [urls[0], urls[2]]
    assert Registration.objects.count() == 3


def test_periodic_task_calls_off(monkeypatch: pytest.MonkeyPatch) -> None:
    called = []
    monkeypatch.setattr(tasks, "registrations_call_off", lambda *, now: called.append(now))
    tasks.call_off_registrations()
    assert len(called) == 1

"""At least once, under one identifier, with pauses that grow and an end."""

import random
import socket
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

import pytest
from django.contrib.auth.models import User

from notifications import delivery
from notifications.delivery import deliveries_forget, deliveries_take, delivery_send
from notifications.models import Attempt, Delivery, Event, Subscription
from notifications.operations import (
    MOST_ASKED_AN_HOUR,
    NotificationStateError,
    delivery_again,
    secret_rotate,
    webhook_create,
)
from notifications.operations import trial_send as send_test
from notifications.pauses import LONGEST, pause_after
from notifications.targets import TargetRefusedError
from tests.clock import time_is
from tests.collections.notifications.scene import HOOK, read_all
from tests.factories import published_recipe
from tests.scenes import account

START = datetime(2030, 1, 1, tzinfo=UTC)


class Clock:
    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = START
        time_is(monkeypatch, lambda: self.now)

    def pass_by(self, **time: float) -> None:
        self.now += timedelta(**time)


@pytest.fixture
def moment(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


class Receiver:
    """Answers each request with the next status; an exception is raised. The last one stays."""

    def __init__(self, *answers: int | Exception) -> None:
        self.answers = list(answers)
        self.asked: list[Mapping[str, str]] = []
        self.bodies: list[bytes] = []

    def __call__(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes
    ) -> tuple[int, dict, bytes]:
        self.asked.append(headers)
        self.bodies.append(body)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer, {}, b""


@pytest.fixture
def hook(moment: Clock) -> Subscription:
    """With one event to tell."""
    made, _ = webhook_create(user=account("ana"), url=HOOK, events=["recipe.published"])
    published_recipe()
    read_all()
    return made


def tick(receiver: Receiver) -> int:
    taken = deliveries_take()
    for one in taken:
        delivery_send(delivery=one, transport=receiver)
    return len(taken)


def until_settled(receiver: Receiver, moment: Clock) -> None:
    for _ in range(50):
        row = Delivery.objects.get()
        if row.state != Delivery.State.WAITING:
            return
        moment.now = max(moment.now, row.next_attempt_at)
        tick(receiver)
    pytest.fail("it is tried for ever")


def test_pauses_grow_by_four_up_to_six_hours_with_jitter() -> None:
    steady = type("Steady", (random.Random,), {"uniform": lambda self, low, high: 1.0})()
    pauses = [pause_after(number, steady).total_seconds() for number in (1, 2, 3, 7, 8, 500)]
    assert pauses == [5, 20, 80, 20_480, 21_600, 21_600]
    source = random.Random(1)
    drawn = [pause_after(1, source).total_seconds() for _ in range(100)]
    assert 4 <= min(drawn) < 4.5 < 5.5 < max(drawn) <= 6


def test_message_that_arrives_is_sent_once_though_its_task_comes_twice(hook: Subscription) -> None:
    receiver = Receiver(204)
    (delivery,) = deliveries_take()
    assert deliveries_take() == [], "it is queued"
    for _ in range(2):
        delivery_send(delivery=delivery, transport=receiver)
    assert len(receiver.asked) == 1
    row = Delivery.objects.get()
    assert (row.state, row.attempts.get().status, row.attempts.get().problem) == ("delivered", 204, "")


def test_slow_receivers_do_not_delay_others(
    hook: Subscription, moment: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delivery, "MOST_TAKEN", 1)
    monkeypatch.setattr(delivery, "AT_ONCE", 1)
    Delivery.objects.create(subscription=hook, purpose="test", **times(moment))
    other, _ = webhook_create(user=account("eve"), url=HOOK, events=["recipe.published"])
    last = Delivery.objects.create(subscription=other, purpose="test", **times(moment))
    # The first receiver has one in work, which takes its time, and one that is due.
    assert [row.subscription for row in Delivery.objects.filter(pk__in=deliveries_take())] == [hook]
    assert deliveries_take() == [last.pk]


def test_requests_of_a_subscriber_are_limited_by_the_hour(hook: Subscription, moment: Clock) -> None:
    receiver = Receiver(204)
    until_settled(receiver, moment)
    for _ in range(MOST_ASKED_AN_HOUR - 1):
        delivery_again(delivery=Delivery.objects.get())
        tick(receiver)
    with pytest.raises(NotificationStateError, match="within an hour"):
        delivery_again(delivery=Delivery.objects.get())
    for _ in range(MOST_ASKED_AN_HOUR):
        send_test(subscription=hook)
        tick(receiver)
    with pytest.raises(NotificationStateError, match="within an hour"):
        send_test(subscription=hook)
    assert len(receiver.asked) == 2 * MOST_ASKED_AN_HOUR
    moment.pass_by(hours=1)
    send_test(subscription=hook)
    delivery_again(delivery=Delivery.objects.get(purpose="event"))


def times(moment: Clock) -> dict[str, datetime]:
    return {"created_at": moment.now, "next_attempt_at": moment.now, "give_up_at": moment.now + LONGEST}


def test_message_of_a_worker_that_died_is_sent_again_alike(hook: Subscription, moment: Clock) -> None:
    first, second = Receiver(204), Receiver(204)
    deliveries_take()  # and its task is lost, or:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(delivery, "_note", lambda *a, **k: None)  # it dies once the receiver has answered
        delivery_send(delivery=Delivery.objects.get().pk, transport=first)
    moment.pass_by(minutes=5)
    assert tick(second) == 0
    moment.pass_by(minutes=2)
    assert tick(second) == 1
    assert first.bodies == second.bodies
    assert first.asked[0]["webhook-id"] == second.asked[0]["webhook-id"]
    assert first.asked[0]["webhook-timestamp"] != second.asked[0]["webhook-timestamp"]


def test_failures_are_tried_again_for_a_day_and_then_given_up(hook: Subscription, moment: Clock) -> None:
    failures = [500, ConnectionRefusedError(), 302, TargetRefusedError(), TimeoutError()]
    receiver = Receiver(*failures)
    until_settled(receiver, moment)
    row = Delivery.objects.get()
    assert row.state == Delivery.State.FAILED
    assert moment.now - START <= LONGEST
    assert 8 <= row.attempts.count() <= 14
    assert [attempt.status for attempt in row.attempts.all()][:4] == [500, None, 302, None]
    assert len({headers["webhook-id"] for headers in receiver.asked}) == 1
    hook.refresh_from_db()
    assert hook.failing_since == START
    assert hook.disabled_at is None, "one bad day is no end"


@pytest.mark.parametrize(
    "looked_up",
    [
        ["10.0.0.1"],
        ["93.184.216.34", "127.0.0.1"],
        socket.gaierror(socket.EAI_NONAME),
        TimeoutError(),
        UnicodeError(),
    ],
)
def test_log_tells_no_internal_name_from_one_that_does_not_exist(
    hook: Subscription, moment: Clock, monkeypatch: pytest.MonkeyPatch, looked_up: list[str] | Exception
) -> None:
    def getaddrinfo(host: str, port: int, **_: object) -> list[object]:
        # An unknown name may take seconds, of which the log tells nothing either.
        moment.pass_by(seconds=7)
        if isinstance(looked_up, Exception):
            raise looked_up
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (text, port)) for text in looked_up]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    for taken in deliveries_take():
        delivery_send(delivery=taken)
    row = Delivery.objects.get()
    attempt = row.attempts.get()
    assert (attempt.at, attempt.status) == (START, None)
    assert attempt.problem == "no answer: the host's name is unknown, or not of a public host"
    assert row.state == Delivery.State.WAITING
    assert START + timedelta(seconds=4) <= row.next_attempt_at <= START + timedelta(seconds=6)


def test_success_ends_the_failing_and_no_answer_is_recorded(hook: Subscription, moment: Clock) -> None:
    until_settled(Receiver(503, 200), moment)
    hook.refresh_from_db()
    assert hook.failing_since is None
    assert {field.name for field in Attempt._meta.fields} == {"id", "delivery", "at", "status", "problem"}


def test_subscription_that_fails_for_days_is_switched_off(hook: Subscription, moment: Clock) -> None:
    until_settled(Receiver(500), moment)
    moment.pass_by(days=5)
    delivery_again(delivery=Delivery.objects.get())
    until_settled(Receiver(500), moment)
    hook.refresh_from_db()
    assert hook.disabled_at is not None
    published_recipe()
    read_all()
    assert Delivery.objects.count() == 1, "nobody is told who is switched off"
    with pytest.raises(NotificationStateError, match="switched off"):
        delivery_again(delivery=Delivery.objects.get())


def test_message_sent_again_by_hand_has_the_same_name(hook: Subscription, moment: Clock) -> None:
    receiver = Receiver(200)
    tick(receiver)
    delivery_again(delivery=Delivery.objects.get())
    with pytest.raises(NotificationStateError, match="waits"):
        delivery_again(delivery=Delivery.objects.get())
    tick(receiver)
    assert receiver.asked[0]["webhook-id"] == receiver.asked[1]["webhook-id"]
    assert Attempt.objects.count() == 2
    # A receiver that is gone is switched off at once, and an account that was switched off is sent nothing.
    delivery_again(delivery=Delivery.objects.get())
    tick(Receiver(410))
    hook.refresh_from_db()
    assert hook.disabled_at is not None
    assert Delivery.objects.get().state == Delivery.State.FAILED
    Subscription.objects.update(disabled_at=None)
    delivery_again(delivery=Delivery.objects.get())
    User.objects.update(is_active=False)
    tick(receiver)
    assert len(receiver.asked) == 2
    assert Delivery.objects.get().state == Delivery.State.FAILED


def test_old_and_rotated_secret_both_sign_for_a_day(hook: Subscription, moment: Clock) -> None:
    secret_rotate(subscription=hook, actor=hook.user)
    receiver = Receiver(500)
    tick(receiver)
    moment.pass_by(days=1)
    row = Delivery.objects.get()
    row.next_attempt_at = moment.now
    row.save()
    tick(receiver)
    assert [len(headers["webhook-signature"].split()) for headers in receiver.asked] == [2, 1]


def test_message_that_cannot_be_made_is_given_up_as_any_other(hook: Subscription, moment: Clock) -> None:
    Event.objects.update(kind="of another version")
    until_settled(Receiver(200), moment)
    row = Delivery.objects.get()
    assert row.state == Delivery.State.FAILED
    assert row.attempts.first().problem == "it could not be made: KeyError"


def test_log_of_deliveries_is_kept_for_a_month_if_sent(hook: Subscription, moment: Clock) -> None:
    moment.pass_by(days=40)
    deliveries_forget()
    assert Delivery.objects.exists()
    tick(Receiver(200))
    deliveries_forget()
    assert not Delivery.objects.exists()
    assert Event.objects.exists()

"""Of each periodic task at most one waits and one runs, whatever is lost, killed or slow."""

import threading
import uuid
from datetime import datetime, timedelta

import pytest
from django.conf import settings
from kombu.utils.scheduling import cycle_by_name

from panapp.celery import celery_application
from simulations.installation.services import wait_until
from storage import clock, turns
from storage.models import PeriodicRun
from storage.periodic import (
    PeriodicTask,
    periodic_claim,
    periodic_forget,
    periodic_turn,
    periodic_unclaim,
)
from storage.queues import QueueNames
from storage.turns import FIRST_WAIT, LEASE, LONGEST_WAIT
from tests.concurrency import at_once
from tests.patience import PATIENCE

pytestmark = pytest.mark.django_db

NAME = "tests.tasks.tick"


class Clock:
    """The database's, which the test sets."""

    def __init__(self) -> None:
        self.now = clock.database_now()

    def __call__(self) -> datetime:
        return self.now

    def pass_time(self, time: timedelta) -> None:
        self.now += time


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr("storage.clock.database_now", made)
    return made


def ran(claim: str | None = None) -> bool:
    with periodic_turn(name=NAME, claim=claim) as ours:
        return ours


def test_what_waits_is_not_sent_again_until_it_was_taken_up() -> None:
    claim = periodic_claim(name=NAME)
    assert claim is not None
    assert periodic_claim(name=NAME) is None
    assert periodic_claim(name="another") is not None
    assert ran(claim)
    assert periodic_claim(name=NAME) is not None


def test_what_runs_is_not_sent_again_until_it_ends() -> None:
    claim = periodic_claim(name=NAME)
    with periodic_turn(name=NAME, claim=claim) as ours:
        assert ours
        assert periodic_claim(name=NAME) is None
        assert not ran()
        assert not ran(claim)
    assert periodic_claim(name=NAME) is not None


def queued_until() -> datetime:
    found = PeriodicRun.objects.get(name=NAME).queued_until
    assert found is not None
    return found


def test_lost_message_is_sent_again_ever_more_rarely(time: Clock) -> None:
    waits = []
    for _ in range(12):
        assert periodic_claim(name=NAME) is not None
        waits.append(queued_until() - time.now)
        time.pass_time(waits[-1] - timedelta(seconds=1))
        assert periodic_claim(name=NAME) is None
        time.pass_time(timedelta(seconds=1))
    assert waits[:4] == [FIRST_WAIT, 2 * FIRST_WAIT, 4 * FIRST_WAIT, 8 * FIRST_WAIT]
    assert waits[-2:] == [LONGEST_WAIT, LONGEST_WAIT]
    assert ran(periodic_claim(name=NAME))
    assert periodic_claim(name=NAME) is not None
    assert queued_until() == time.now + FIRST_WAIT


def test_message_that_was_taken_for_lost_is_passed_over(time: Clock) -> None:
    first = periodic_claim(name=NAME)
    time.pass_time(FIRST_WAIT)
    second = periodic_claim(name=NAME)
    assert second is not None
    assert not ran(first)
    assert ran(second)
    assert not ran(second)  # it comes twice


def test_task_of_a_killed_worker_runs_again_after_its_lease(time: Clock) -> None:
    turn = periodic_turn(name=NAME, claim=periodic_claim(name=NAME))
    assert turn.__enter__()
    killed = PeriodicRun.objects.get(name=NAME)
    turn.__exit__(None, None, None)
    PeriodicRun.objects.filter(name=NAME).update(running_until=killed.running_until, runner=killed.runner)
    time.pass_time(LEASE - timedelta(seconds=1))
    assert periodic_claim(name=NAME) is None
    time.pass_time(timedelta(seconds=1))
    assert ran(periodic_claim(name=NAME))


def test_task_that_fails_leaves_its_place_to_the_next() -> None:
    with pytest.raises(RuntimeError), periodic_turn(name=NAME):
        raise RuntimeError
    assert ran(periodic_claim(name=NAME))


def test_clock_that_is_set_back_stops_nothing(time: Clock) -> None:
    assert periodic_claim(name=NAME) is not None
    time.pass_time(timedelta(days=-1))
    assert ran(periodic_claim(name=NAME))


def test_what_could_not_be_sent_and_what_beat_forgets_do_not_wait() -> None:
    claim = periodic_claim(name=NAME)
    assert claim is not None
    periodic_unclaim(name=NAME, claim=str(uuid.uuid4()))
    assert periodic_claim(name=NAME) is None
    periodic_unclaim(name=NAME, claim=claim)
    assert periodic_claim(name=NAME) is not None
    periodic_forget()
    assert periodic_claim(name=NAME) is not None


@pytest.mark.django_db(transaction=True)
def test_long_task_keeps_its_place_and_of_many_workers_one_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "RENEW_SECONDS", 0.05)
    with periodic_turn(name=NAME) as ours:
        assert ours
        PeriodicRun.objects.filter(name=NAME).update(running_until=clock.database_now())
        assert wait_until(lambda: periodic_claim(name=NAME) is None, PATIENCE, interval=0.05)
    periodic_forget()
    others = threading.Semaphore(0)

    def work() -> bool:
        with periodic_turn(name=NAME) as is_ours:
            if is_ours:
                assert all(others.acquire(timeout=PATIENCE) for _ in range(7))
            else:
                others.release()
            return is_ours

    assert sorted(at_once(*[work] * 8)) == [False] * 7 + [True]


def test_worker_passes_over_a_task_that_runs() -> None:
    done: list[bool] = []

    # Of this application: another test's may be the current one.
    @celery_application.task(name=NAME, base=PeriodicTask, shared=False)
    def tick() -> None:
        done.append(True)

    tick.apply(kwargs={"claim": periodic_claim(name=NAME)}).get()
    assert done == [True]
    with periodic_turn(name=NAME):
        tick.apply().get()
        assert done == [True]
        tick()
        assert done == [True, True]


def test_every_task_of_beat_is_one_of_which_one_runs_at_a_time() -> None:
    celery_application.loader.import_default_modules()
    sent = {entry["task"] for entry in settings.CELERY_BEAT_SCHEDULE.values()}
    assert {name for name in sent if not isinstance(celery_application.tasks[name], PeriodicTask)} == set()


@pytest.mark.parametrize("busy", QueueNames.of("ours")[1:])
def test_backlog_of_one_queue_keeps_no_other_waiting(busy: str) -> None:
    names = list(QueueNames.of("ours"))
    order = cycle_by_name(settings.CELERY_BROKER_TRANSPORT_OPTIONS["queue_order_strategy"])()
    order.update(names)
    waiting = dict.fromkeys(names, 1) | {busy: 1_000}
    taken = []
    for _ in range(len(names) + 1):
        queue = next(name for name in order.consume(len(names)) if waiting[name])
        waiting[queue] -= 1
        taken.append(queue)
        order.rotate(queue)
    assert set(taken) == set(names)
    waiting[names[0]] = 1
    assert next(name for name in order.consume(len(names)) if waiting[name]) == names[0]

"""A machine whose clock is wrong, for seconds or for good.

What cannot be undone goes by the database's clock, and not by one that jumped: such a clock must keep its
new pace for 10 minutes by a clock that nobody sets. Beat goes by that one as well, no task expires, and
health and metrics show clocks that differ by more than 10 s.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from celery import Celery
from celery.beat import Scheduler
from django.conf import settings
from django.db import OperationalError, connection
from django.test import Client
from django.utils import timezone
from kombu.utils.imports import symbol_by_name

from panapp import health
from panapp.celery import celery_application
from panapp.ticks import TickScheduler, every
from recipes.models import Recipe
from results.models import Release
from storage.clock import CONFIRMED_AFTER, LARGEST_JUMP, Look, judge, settled_now
from storage.models import ClockWitness
from storage.periodic import periodic_forget
from tests.driving import collections_advance, rests_end
from tests.factories import published_recipe

TWO_WEEKS = timedelta(days=14)
NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)


class Machine:
    """One machine's looks at a database's clock, and what it notes."""

    def __init__(self) -> None:
        self.noted: ClockWitness | None = None

    def look(self, database: timedelta, steady: float, newest: datetime | None = None) -> timedelta:
        """What is settled, counted as `database` is: from `NOW`."""
        verdict = judge(Look(NOW + database, "a start", steady, 0.0), self.noted, newest)
        if verdict.note is not None:
            before = {} if self.noted is None else vars(self.noted)
            kept = {name: value for name, value in before.items() if not name.startswith("_")}
            self.noted = ClockWitness(**{**kept, "boot": "a start", **verdict.note})
        return verdict.settled - NOW


def seconds(count: float) -> timedelta:
    return timedelta(seconds=count)


def test_a_jump_of_two_weeks_for_15_seconds_is_not_believed() -> None:
    machine = Machine()
    assert machine.look(seconds(0), 100) == seconds(0)
    for passed in range(2, 16):
        assert machine.look(TWO_WEEKS + seconds(passed), 100 + passed) == seconds(passed)
    for passed in (16, 18, 1_000):
        assert machine.look(seconds(passed), 100 + passed) == seconds(passed)


def test_a_jump_is_believed_once_the_clock_has_kept_it() -> None:
    machine, wait = Machine(), CONFIRMED_AFTER.total_seconds()
    machine.look(seconds(0), 0)
    for passed in range(1, int(wait), 20):
        assert machine.look(TWO_WEEKS + seconds(passed), passed) == seconds(passed)
    # It jumps again: the time of before counts for nothing.
    assert machine.look(2 * TWO_WEEKS + seconds(wait), wait) == seconds(wait)
    assert machine.look(2 * TWO_WEEKS + seconds(2 * wait - 1), 2 * wait - 1) == seconds(2 * wait - 1)
    assert machine.look(2 * TWO_WEEKS + seconds(2 * wait), 2 * wait) == 2 * TWO_WEEKS + seconds(2 * wait)


def test_a_machine_that_was_off_goes_on_from_the_last_noted_time() -> None:
    machine, wait = Machine(), CONFIRMED_AFTER.total_seconds()
    away = timedelta(days=2)
    assert machine.look(away, 5, newest=NOW) == seconds(0)
    assert machine.look(away + seconds(9), 14) == seconds(9)
    assert machine.look(away + seconds(wait), 5 + wait) == away + seconds(wait)


@pytest.mark.parametrize(("ahead", "newest"), [(20, NOW), (0, NOW - timedelta(seconds=80))])
def test_a_new_machine_among_others_believes_the_time_at_once(ahead: int, newest: datetime) -> None:
    machine = Machine()
    assert machine.look(seconds(ahead), 5, newest=newest) == seconds(ahead)
    assert machine.noted is not None
    assert machine.noted.doubted_at is None


def test_time_that_is_settled_is_never_ahead_of_the_databases() -> None:
    machine = Machine()
    machine.look(seconds(0), 0)
    assert machine.look(seconds(-7_200), 10) == seconds(-7_200)
    small = LARGEST_JUMP / 2
    assert machine.look(small, 0.001) == small


@pytest.mark.django_db
def test_worker_two_weeks_ahead_for_15_seconds_closes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = published_recipe()
    collections_advance()
    right = timezone.now
    monkeypatch.setattr(timezone, "now", lambda: right() + TWO_WEEKS)
    assert recipe.closes_at is not None
    assert recipe.closes_at < timezone.now()
    for _ in range(7):
        rests_end()
        collections_advance()
    recipe.refresh_from_db()
    assert recipe.status == Recipe.Status.PUBLISHED
    assert not Release.objects.exists()


@pytest.mark.django_db
def test_recipe_closes_by_the_databases_clock_when_its_time_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = published_recipe()
    closes_at = recipe.closes_at
    assert closes_at is not None
    for jump, status in ((-1, Recipe.Status.PUBLISHED), (1, Recipe.Status.CLOSED)):
        monkeypatch.setattr("storage.clock.settled_now", lambda jump=jump: closes_at + seconds(jump))
        rests_end()
        collections_advance()
        recipe.refresh_from_db()
        assert recipe.status == status


class Broker(Celery):
    """In memory, with the queues of the product. What beat sends stays there."""

    def __init__(self) -> None:
        super().__init__("ticks", broker="memory://", set_as_current=False)
        self.conf.task_queues = settings.CELERY_TASK_QUEUES
        self.conf.task_default_queue = settings.CELERY_TASK_DEFAULT_QUEUE
        self.conf.task_routes = settings.CELERY_TASK_ROUTES
        tick = {"task": "results.tasks.advance_collections", "schedule": every(2)}
        self.conf.beat_schedule = {"tick": tick}

    def waiting(self) -> list[Any]:
        """Messages in all queues, taken out."""
        with self.connection_for_read() as connection:
            bound = [queue(connection.default_channel) for queue in self.conf.task_queues]
            return [
                message
                for queue in bound
                for message in iter(lambda queue=queue: queue.get(no_ack=True), None)
            ]


@pytest.fixture
def broker() -> Iterator[Broker]:
    broker = Broker()
    broker.waiting()
    yield broker
    broker.waiting()


def ticking(scheduler: Scheduler, until: Callable[[], bool], pass_time: Callable[[float], None]) -> None:
    while not until():
        pass_time(max(scheduler.tick(), 0.001))


@pytest.mark.django_db
def test_beat_an_hour_ahead_goes_on_when_set_back(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    steady = [time.monotonic()]
    monkeypatch.setattr(time, "monotonic", lambda: steady[0])
    hour = [timedelta(hours=1)]
    monkeypatch.setattr(broker, "now", lambda: datetime.now(UTC) + hour[0])
    scheduler = symbol_by_name(settings.CELERY_BEAT_SCHEDULER)(broker)

    def pass_time(count: float) -> None:
        steady[0] += count
        periodic_forget()  # a worker has taken up what waited

    start = steady[0]
    ticking(scheduler, lambda: steady[0] >= start + 6.1, pass_time)
    assert len(broker.waiting()) == 3
    hour[0] = timedelta(0)
    ticking(scheduler, lambda: steady[0] >= start + 12.1, pass_time)
    assert len(broker.waiting()) == 3


@pytest.mark.django_db
def test_no_task_expires_by_any_clock(broker: Broker) -> None:
    TickScheduler(broker).tick()
    for entry in settings.CELERY_BEAT_SCHEDULE.values():
        assert "expires" not in entry.get("options", {})
    celery_application.loader.import_default_modules()
    ours = [task for name, task in celery_application.tasks.items() if not name.startswith("celery.")]
    assert len(ours) > 5
    assert [task.name for task in ours if task.expires is not None and "plan" not in task.name] == []


@pytest.mark.django_db
def test_messages_that_no_worker_takes_stay_few(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    scheduler = TickScheduler(broker)
    (entry,) = scheduler.schedule.values()
    start = timezone.now()
    for second in range(0, 3_600, 30):
        monkeypatch.setattr("storage.clock.database_now", lambda second=second: start + seconds(second))
        scheduler.apply_async(entry, producer=scheduler.producer)
    waiting = broker.waiting()
    assert 1 < len(waiting) <= 10
    assert {message.headers["expires"] for message in waiting} == {None}


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has no connection to lose")
@pytest.mark.django_db(transaction=True)
def test_beat_goes_on_after_its_connection_was_lost(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    """As after a restart of the database; beat keeps its connection for longer than threads do."""
    monkeypatch.setitem(connection.settings_dict, "CONN_MAX_AGE", 60)
    scheduler = TickScheduler(broker)
    (entry,) = scheduler.schedule.values()
    scheduler.apply_async(entry, producer=scheduler.producer)
    with connection.cursor() as cursor, suppress(OperationalError):
        cursor.execute("SELECT pg_terminate_backend(pg_backend_pid())")
    for _ in range(2):  # one tick may find out
        with suppress(OperationalError):
            scheduler.apply_async(entry, producer=scheduler.producer)
    periodic_forget()
    assert scheduler.apply_async(entry, producer=scheduler.producer) is not None


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("ahead", "doubted", "told"),
    [(0.0, False, "ok"), (25.0, False, "failed"), (-25.0, False, "failed"), (0.0, True, "incomplete")],
)
def test_health_and_metrics_show_a_worker_whose_clock_is_wrong(
    client: Client, monkeypatch: pytest.MonkeyPatch, ahead: float, doubted: bool, told: str
) -> None:
    checks = dict.fromkeys(settings.ROLE.checks, lambda: None) | {"clock": health._clock}
    monkeypatch.setattr(health, "_CHECKS", checks)
    now = timezone.now()
    ClockWitness.objects.create(
        boot="another machine",
        database_at=now,
        steady_seconds=7,
        ahead_seconds=ahead,
        noted_at=now,
        doubted_at=now if doubted else None,
    )
    answer = client.get("/health/ready")
    assert answer.json()["checks"]["clock"] == told
    assert answer.status_code == (503 if told == "failed" else 200)
    numbers = client.get("/metrics").content.decode()
    assert f"panapp_clock_skew_seconds {abs(ahead)}" in numbers
    assert f"panapp_clock_doubted {float(doubted)}" in numbers


def test_machine_that_doubts_says_so_until_it_does_not() -> None:
    """Its note is about the present all the time: health and metrics show only such."""
    machine, newest = Machine(), NOW - timedelta(hours=1)
    for second in range(0, 596, 5):
        machine.look(seconds(second), second, newest)
        assert machine.noted is not None
        assert machine.noted.doubted_at == NOW
        assert NOW + seconds(second) - machine.noted.noted_at <= timedelta(minutes=1)


@pytest.mark.django_db
def test_this_machine_notes_its_clock_as_it_works(monkeypatch: pytest.MonkeyPatch) -> None:
    ClockWitness.objects.all().delete()
    settled_now()
    assert abs(ClockWitness.objects.get().ahead_seconds) < 1

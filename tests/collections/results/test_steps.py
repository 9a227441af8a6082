"""Each recipe takes its steps alone. What is lost, doubled, killed or slow delays only that recipe."""

import threading
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

import pytest
from celery import current_app
from django.db import OperationalError, connection, transaction

from dap.leader.progress_signal import task_moved
from dap.models import Task
from publishing.publication import recipe_close
from recipes.models import NextStep, Recipe
from recipes.steps import (
    FIRST_PAUSE,
    LONGEST_REST,
    LOST_AFTER,
    step_due,
    step_due_unless_locked,
    step_turn,
    steps_claim,
)
from reports.rows import MARK_SECONDS, Arrivals
from reports.store import MINIMUM_REPORTS
from results import tasks as results_tasks
from results.aggregation.models import Chunk
from results.aggregation.tasks import process_chunk, steps_send
from results.models import Release
from results.tasks import CLOSED_REST, advance_collection, advance_collections, collection_advance
from storage import clock
from storage.group_commit import waits_bound
from storage.turns import LEASE
from tests.clock import time_is
from tests.concurrency import at_once, in_thread, open_transaction
from tests.driving import collections_advance
from tests.factories import published_recipe, report_of_values, submitted
from tests.patience import PATIENCE

pytestmark = pytest.mark.django_db


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


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """Identifiers and claims of the tasks that are sent, and that no worker takes up."""
    messages: list[tuple[str, str]] = []
    monkeypatch.setattr(current_app, "send_task", lambda task, args: messages.append(args))
    return messages


def resting(**changes: Any) -> Recipe:
    """An open recipe that waits."""
    recipe = published_recipe(opens_at="2020-01-01T00:00:00Z", closes_at="2090-01-01T00:00:00Z", **changes)
    collections_advance()
    return recipe


def closed(**changes: Any) -> Recipe:
    """One that needs nothing but a step for its end."""
    return recipe_close(recipe=resting(**changes), actor=None)


def both_closed() -> list[Recipe]:
    recipes = [resting(), resting()]
    return [recipe_close(recipe=recipe, actor=None) for recipe in recipes]


def due_at(recipe: Recipe) -> datetime:
    return NextStep.objects.get(recipe=recipe).due_at


def test_poll_asks_one_question_however_many_recipes_wait(
    sent: list[Any], django_assert_num_queries: Any
) -> None:
    for _ in range(3):
        resting()
    # PostgreSQL is asked for the time, too.
    with django_assert_num_queries(1 if connection.vendor == "sqlite" else 2):
        advance_collections()
    assert sent == []


def test_poll_sends_a_task_for_each_recipe_that_is_due_and_for_no_other(sent: list[Any]) -> None:
    resting()
    ended = {str(recipe.identifier) for recipe in both_closed()}
    advance_collections()
    assert {identifier for identifier, _ in sent} == ended
    advance_collections()
    assert len(sent) == 2
    for identifier, claim in sent:
        advance_collection(identifier=identifier, claim=claim)
    assert Release.objects.count() == 2


def test_open_recipe_is_due_when_enough_reports_are_there(
    django_capture_on_commit_callbacks: Callable[..., Any],
) -> None:
    recipe = resting(cohort_size=3)
    reports = [report_of_values(recipe, [1]) for _ in range(3)]
    with django_capture_on_commit_callbacks(execute=True):
        submitted(recipe, *reports[:2])
    assert steps_claim() == {}
    with django_capture_on_commit_callbacks(execute=True):
        submitted(recipe, *reports[2:])
    assert list(steps_claim()) == [recipe.identifier]


def test_arrivals_are_marked_at_most_once_a_second_by_a_process() -> None:
    seconds = 0.0
    arrivals = Arrivals(lambda: seconds)
    recipe = Recipe(identifier="a", cohort_size=MINIMUM_REPORTS * 2)
    other = Recipe(identifier="b", cohort_size=10)
    assert not arrivals.are_enough(recipe, MINIMUM_REPORTS - 1)
    assert arrivals.are_enough(recipe, 1)
    assert arrivals.are_enough(other, 10)
    assert not arrivals.are_enough(recipe, MINIMUM_REPORTS)
    seconds += MARK_SECONDS
    assert arrivals.are_enough(recipe, 0)


def test_last_chunk_sends_for_the_step_that_releases(
    sent: list[Any], monkeypatch: pytest.MonkeyPatch, settings: Any, django_capture_on_commit_callbacks: Any
) -> None:
    settings.CHUNK_REPORTS = 1
    chunks: list[str] = []
    monkeypatch.setattr(process_chunk, "delay", chunks.append)
    recipe = resting(cohort_size=2)
    submitted(recipe, *(report_of_values(recipe, [1]) for _ in range(2)))
    recipe_close(recipe=recipe, actor=None)
    with django_capture_on_commit_callbacks(execute=True):
        collections_advance()
    first, last = chunks
    process_chunk(first)
    assert sent == []
    process_chunk(last)
    ((identifier, claim),) = sent
    # It comes twice, and the poll comes meanwhile.
    advance_collections()
    for _ in range(2):
        advance_collection(identifier=identifier, claim=claim)
    assert len(sent) == 1
    assert Release.objects.get().reports == 2


def test_mark_that_comes_during_a_step_makes_the_recipe_due_again() -> None:
    recipe = resting()
    with step_turn(recipe=recipe.pk) as turn:
        assert turn is not None
        step_due(recipe=recipe)
        assert steps_claim() == {}
    assert list(steps_claim()) == [recipe.identifier]


def test_lost_mark_delays_a_recipe_and_does_not_stop_it(time: Clock) -> None:
    recipe = closed()
    NextStep.objects.update(due_at=time.now + CLOSED_REST)
    assert steps_claim() == {}
    time.pass_time(CLOSED_REST)
    collections_advance()
    assert Release.objects.filter(recipe=recipe).exists()


def test_lost_message_is_sent_again_and_the_former_passed_over(time: Clock) -> None:
    recipe = closed()
    first = steps_claim()[str(recipe.identifier)]
    time.pass_time(LOST_AFTER - timedelta(seconds=1))
    assert steps_claim() == {}
    time.pass_time(timedelta(seconds=1))
    second = steps_claim()[str(recipe.identifier)]
    advance_collection(identifier=str(recipe.identifier), claim=first)
    assert not Release.objects.exists()
    advance_collection(identifier=str(recipe.identifier), claim=second)
    assert Release.objects.exists()


def test_message_that_cannot_be_sent_is_sent_at_the_next_poll(monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = closed()

    def unreachable(*_: object, **__: object) -> None:
        raise OperationalError

    monkeypatch.setattr(current_app, "send_task", unreachable)
    with pytest.raises(OperationalError):
        steps_send()
    assert list(steps_claim()) == [recipe.identifier]


def test_step_of_a_killed_worker_is_taken_again_after_its_lease(time: Clock) -> None:
    recipe = closed()
    turn = step_turn(recipe=recipe.pk, claim=steps_claim()[str(recipe.identifier)])
    assert turn.__enter__() is not None
    killed = NextStep.objects.get(recipe=recipe)
    turn.__exit__(None, None, None)
    killed.save()
    time.pass_time(LEASE - timedelta(seconds=1))
    assert steps_claim() == {}
    time.pass_time(timedelta(seconds=1))
    collections_advance()
    assert Release.objects.filter(recipe=recipe).exists()


def test_time_from_a_clock_that_was_set_back_delays_no_step(time: Clock) -> None:
    recipe = resting()
    time.pass_time(timedelta(days=-1))
    assert list(steps_claim()) == [recipe.identifier]


def test_failing_recipe_is_tried_again_ever_more_rarely(
    time: Clock, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    recipe = closed()
    broken = True

    def failing(**options: Any) -> None:
        if broken:
            raise ZeroDivisionError
        collection_advance(**options)

    monkeypatch.setattr(results_tasks, "collection_advance", failing)
    waits = []
    for _ in range(11):
        collections_advance()
        waits.append(due_at(recipe) - time.now)
        time.pass_time(waits[-1])
    assert waits[:3] == [FIRST_PAUSE, 2 * FIRST_PAUSE, 4 * FIRST_PAUSE]
    assert waits[-1] == LONGEST_REST
    assert caplog.text.count("recipe_not_advanced") == len(waits)
    broken = False
    collections_advance()
    assert Release.objects.filter(recipe=recipe).exists()


def test_finished_recipe_has_no_step() -> None:
    recipe = closed()
    collections_advance()
    assert not NextStep.objects.exists()
    step_due(recipe=recipe)
    advance_collection(identifier=str(recipe.identifier))
    assert Release.objects.count() == 1


def test_move_of_a_leaders_task_makes_its_recipe_due() -> None:
    recipe = resting()
    assert steps_claim() == {}
    task_moved.send(Task, task_id=bytes.fromhex(str(recipe.identifier)))
    assert list(steps_claim()) == [recipe.identifier]
    # One of a task that is no recipe's changes nothing.
    task_moved.send(Task, task_id=bytes(32))


def test_chunk_that_seems_lost_is_what_a_recipe_rests_for() -> None:
    recipe = closed()
    lost_at = clock.database_now() + timedelta(seconds=9)
    Chunk.objects.create(recipe=recipe, count=1, send_after=lost_at)
    collections_advance()
    assert due_at(recipe) == lost_at


@pytest.mark.django_db(transaction=True)
def test_step_that_takes_long_keeps_no_other_recipe_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    slow, other = both_closed()
    begun, go_on = threading.Event(), threading.Event()

    def waiting(*, recipe: Recipe, now: datetime) -> None:
        if recipe == slow:
            begun.set()
            assert go_on.wait(PATIENCE)
        collection_advance(recipe=recipe, now=now)

    monkeypatch.setattr(results_tasks, "collection_advance", waiting)
    claims = steps_claim()
    worker = in_thread(
        lambda: advance_collection(identifier=str(slow.identifier), claim=claims[str(slow.identifier)])
    )
    assert begun.wait(PATIENCE)
    advance_collection(identifier=str(other.identifier), claim=claims[str(other.identifier)])
    assert [release.recipe for release in Release.objects.all()] == [other]
    step_due(recipe=slow)
    assert steps_claim() == {}
    go_on.set()
    worker.join(PATIENCE)
    assert Release.objects.filter(recipe=slow).exists()


@pytest.mark.django_db(transaction=True)
def test_of_many_workers_with_one_recipe_one_takes_the_step() -> None:
    recipe = closed()
    runs: list[Recipe] = []
    refused = threading.Semaphore(0)

    def advance() -> None:
        with step_turn(recipe=recipe.pk) as turn:
            if turn is not None:
                runs.append(recipe)
                # A worker that comes after the end of this turn may take the next one.
                assert refused.acquire(timeout=PATIENCE)
                assert refused.acquire(timeout=PATIENCE)
            else:
                refused.release()

    at_once(advance, advance, advance)
    assert len(runs) == 1


def test_rest_is_never_longer_than_a_lost_mark_may_delay() -> None:
    recipe = resting()
    assert due_at(recipe) - clock.database_now() <= LONGEST_REST


def test_mark_during_a_step_longer_than_its_lease_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = closed()
    began = clock.database_now()
    with step_turn(recipe=recipe.pk) as turn:
        assert turn is not None
        time_is(monkeypatch, lambda: began + 2 * LEASE)
        step_due(recipe=recipe)
        turn.rest_until = began + LONGEST_REST
    assert list(steps_claim()) == [str(recipe.identifier)]


def test_reports_that_arrive_during_a_step_make_the_next_one_due() -> None:
    recipe = closed()
    with step_turn(recipe=recipe.pk) as turn:
        assert turn is not None
        step_due_unless_locked(recipe=recipe)
        turn.rest_until = clock.database_now() + LONGEST_REST
    assert list(steps_claim()) == [str(recipe.identifier)]


def test_reports_do_not_cut_the_pause_of_a_recipe_whose_step_failed() -> None:
    recipe = closed()
    with step_turn(recipe=recipe.pk) as turn:
        assert turn is not None
        turn.failed = True
    step_due_unless_locked(recipe=recipe)
    assert steps_claim() == {}
    step_due(recipe=recipe)
    assert list(steps_claim()) == [str(recipe.identifier)]


def test_worker_that_dies_of_a_step_each_time_does_so_ever_more_rarely() -> None:
    recipe = closed()
    pauses = []
    for _ in range(4):
        began = clock.database_now()
        with suppress(SystemExit), step_turn(recipe=recipe.pk):
            raise SystemExit
        row = NextStep.objects.get(recipe=recipe)
        pauses.append((row.due_at - began).total_seconds())
    assert pauses == sorted(pauses)
    assert pauses[-1] > pauses[0] + 10


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has no locks of rows")
def test_reports_that_arrive_wait_for_no_one_who_holds_the_row_of_steps() -> None:
    recipe = resting()

    def hold() -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT FROM recipes_nextstep WHERE recipe_id = %s FOR UPDATE", [recipe.pk])

    with open_transaction(hold), transaction.atomic():
        waits_bound()
        step_due_unless_locked(recipe=recipe)
    step_due_unless_locked(recipe=recipe)
    assert list(steps_claim()) == [str(recipe.identifier)]

"""A series is paid for at once, asked by the clock, each round once, and leaves gaps where it cannot be."""

import re
import threading
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from types import SimpleNamespace

import pytest
from django.db import IntegrityError, connection, transaction

from ledger.budget import Budget
from ledger.models import Spending
from ledger.operations import population_create
from ledger.selectors import balance_of, unreturned_events
from log.audit.models import Entry
from panprivacy.formats.errors import FieldError
from publishing.publication import recipe_publish_file
from recipes.errors import PartnerUnavailableError
from recipes.models import Recipe
from series import operations
from series.errors import SeriesStateError
from series.models import Round
from series.operations import rounds_advance, series_publish, series_stop
from series.selectors import rounds_failing
from tests.clock import time_is
from tests.concurrency import Pause, in_thread
from tests.factories import recipe_members
from tests.scenes import analyst

pytestmark = pytest.mark.django_db

START = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.fixture
def clock(monkeypatch):
    """The time, which tests set."""
    clock = SimpleNamespace(now=START)
    time_is(monkeypatch, lambda: clock.now)
    return clock


@pytest.fixture
def pilots():
    return population_create(
        name="pilots", description="", budget=Budget(epsilon=2.0, delta=1e-4), actor=None
    )


def published(**changes):
    weekly = {"every": "week", "rounds": 3, "population": "pilots", "epsilon": 0.1, "cohort_size": 500}
    return series_publish(members=recipe_members(**(weekly | changes)), actor=None)


def is_refused(**changes):
    """Whether so many exceed the budget; if they do not, nothing stays reserved."""
    try:
        series_stop(series=published(**changes), actor=None)
    except FieldError as refusal:
        return "would be exceeded" in refusal.message
    return False


def states(series):
    return list(series.rounds.order_by("number").values_list("state", flat=True))


def test_rounds_are_asked_by_the_clock_each_once(clock, pilots):
    series = published()
    for week, so_far in ((0, 1), (0, 1), (6, 1), (7, 2), (14, 3), (90, 3)):
        clock.now = START + timedelta(days=week)
        rounds_advance()
        rounds_advance()
        assert Recipe.objects.count() == so_far, week
    names = list(Recipe.objects.order_by("pk").values_list("name", flat=True))
    assert names == [f"Crash counter, round {number} of 3" for number in (1, 2, 3)]
    assert states(series) == ["published"] * 3
    with pytest.raises(IntegrityError), transaction.atomic():
        Round.objects.create(series=series, number=1, opens_at=START)
    assert [found.recipe.opens_at for found in series.rounds.order_by("number")] == [
        START + timedelta(weeks=week) for week in range(3)
    ]


def test_budget_of_all_rounds_is_reserved_at_once_and_stays(clock, pilots):
    published()
    reserved = balance_of(pilots)
    assert len(reserved.events) == 3
    for week in range(3):
        clock.now = START + timedelta(weeks=week)
        rounds_advance()
        assert balance_of(pilots).use == reserved.use
    # The book names the recipes now.
    spent = Spending.objects.filter(returns=None, returned_by=None).values_list("recipe", flat=True)
    assert set(spent) == set(Recipe.objects.values_list("identifier", flat=True))


def test_what_is_reserved_cannot_be_spent_by_others(clock, pilots):
    dear, most = {"epsilon": 1.0, "cohort_size": 20}, 0
    while most < 20 and not is_refused(rounds=most + 1, **dear):
        most += 1
    assert 1 < most < 20
    assert unreturned_events(pilots) == []
    published(rounds=most, **dear)
    with pytest.raises(FieldError, match="would be exceeded"):
        recipe_publish_file(members=recipe_members(population="pilots", **dear), actor=None)
    for week in range(most):  # and its own rounds find it, one by one
        clock.now = START + timedelta(weeks=week)
        rounds_advance()
    assert Recipe.objects.count() == most


def test_a_late_round_is_a_gap_and_gives_back_its_reservation(clock, pilots):
    series = published()
    clock.now = START + timedelta(days=10)
    rounds_advance()
    assert states(series) == ["skipped", "published", "planned"]
    assert series.rounds.get(number=1).reason == "nothing ran here while it would have been asked"
    assert len(unreturned_events(pilots)) == 2
    assert Entry.objects.filter(action="series_round_skipped").count() == 1


def test_a_failing_round_is_tried_ever_more_rarely(clock, pilots, monkeypatch):
    series, tried, logged = published(), [], []
    publish = operations.recipe_publish_file

    def unavailable(**_):
        tried.append(clock.now)
        raise PartnerUnavailableError("the helper does not answer")

    monkeypatch.setattr(operations, "recipe_publish_file", unavailable)
    monkeypatch.setattr(operations.logger, "warning", lambda *_, **told: logged.append(told["failures"]))
    for _ in range(13):
        rounds_advance()
        rounds_advance()
        clock.now = rounds_failing().get().retry_at - timedelta(seconds=1)
        rounds_advance()
        clock.now += timedelta(seconds=1)
    assert states(series) == ["planned"] * 3
    pauses = [(later - sooner).total_seconds() for sooner, later in pairwise(tried)]
    assert pauses == [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900]
    assert logged == [1, 2, 4, 8]
    (failing,) = rounds_failing()
    assert (failing.number, failing.problem) == (1, "the helper does not answer")
    failing.retry_at += timedelta(days=1)  # by a clock that was set back since: no pause is that long
    failing.save()
    rounds_advance()
    assert failing.retry_at > rounds_failing().get().retry_at
    clock.now = START + timedelta(days=10)
    rounds_advance()
    reason = "it could not be published in time: the helper does not answer"
    assert series.rounds.get(number=1).reason == reason
    monkeypatch.setattr(operations, "recipe_publish_file", publish)
    clock.now += timedelta(hours=5)
    rounds_advance()
    assert states(series) == ["skipped", "published", "planned"]


def test_what_an_account_sends_twice_is_one_series(clock, pilots):
    user = analyst()
    members = recipe_members(every="week", rounds=2, population="pilots", epsilon=0.1, cohort_size=500)
    first, again = (series_publish(members=members, actor=user) for _ in range(2))
    other = series_publish(members={**members, "rounds": 3}, actor=user)
    assert (again, len(unreturned_events(pilots))) == (first, 5)
    series_stop(series=other, actor=user)
    assert series_publish(members={**members, "rounds": 3}, actor=user) != other


def test_two_workers_that_ask_one_round_publish_one_recipe(clock, pilots):
    series = published()
    stale = series.rounds.get(number=1)
    rounds_advance()
    operations._ask(stale, START)  # as it was read before the other one had published it
    assert Recipe.objects.count() == 1
    assert states(series) == ["published", "planned", "planned"]
    assert len(unreturned_events(pilots)) == 3


def test_a_round_that_fails_does_not_hold_up_those_of_others(clock, pilots, monkeypatch):
    broken, other = published(), published()
    broken.draft = {"what": "another version wrote"}
    broken.save()
    rounds_advance()
    assert states(other) == ["published", "planned", "planned"]
    assert "published" not in states(broken)


def test_stopping_gives_back_what_is_left_and_leaves_what_is_asked(clock, pilots):
    series = published()
    rounds_advance()
    series_stop(series=series, actor=None)
    clock.now = START + timedelta(weeks=1)
    rounds_advance()
    assert states(series) == ["published", "skipped", "skipped"]
    assert len(unreturned_events(pilots)) == 1
    with pytest.raises(SeriesStateError):
        series_stop(series=series, actor=None)


def test_a_series_beyond_budget_or_limits_or_over_already_stores_nothing(
    clock, pilots, settings, monkeypatch
):
    monkeypatch.setattr("recipes.budget.rounds_that_fit", lambda *_: "")  # another test's
    monkeypatch.setattr("recipes.budget.what_fits", lambda *_: "")
    with pytest.raises(FieldError, match="would be exceeded"):
        published(rounds=40, epsilon=1.0, cohort_size=20)
    settings.SMALLEST_COHORT = 1_000
    with pytest.raises(FieldError, match="at least 1,000 for this site"):
        published()
    settings.SMALLEST_COHORT = 2
    with pytest.raises(FieldError, match=r"^opens_at"):
        published(opens_at="2026-01-01T00:00:00Z")
    assert not Round.objects.exists()
    assert not Spending.objects.exists()


def test_what_a_refusal_says_would_do_does_for_all_rounds(clock, pilots):
    dear = {"rounds": 12, "epsilon": 1.0, "cohort_size": 20}
    with pytest.raises(FieldError) as refusal:
        published(**dear)
    assert "12 times this recipe takes it from" in refusal.value.message
    advice = re.search(r"ε = (\S+) or a cohort size of (\S+) would do", refusal.value.message)
    assert advice is not None
    assert not is_refused(**{**dear, "cohort_size": int(advice[2].replace(",", ""))})
    assert not is_refused(**{**dear, "epsilon": float(advice[1])})


def test_a_refusal_says_how_many_rounds_fit_and_just_so_many_do(clock, pilots, monkeypatch):
    monkeypatch.setattr("recipes.budget.what_fits", lambda *_: "")  # what else would fit is another test's
    dear = {"epsilon": 1.0, "cohort_size": 20}
    with pytest.raises(FieldError) as refusal:
        published(rounds=40, **dear)
    said = re.search(r"(\S+) rounds? fits? as", refusal.value.message)
    assert said is not None
    fitting = int(said[1])
    assert 0 < fitting < 40
    assert is_refused(rounds=fitting + 1, **dear)
    assert not is_refused(rounds=fitting, **dear)
    with pytest.raises(FieldError) as refusal:
        published(rounds=2, epsilon=8.0, cohort_size=20)
    assert "not one round fits as it is" in refusal.value.message


@pytest.mark.skipif(not connection.features.has_select_for_update, reason="SQLite has no locks of rows")
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("ending", ["stop", "skip"])
def test_series_that_ends_while_a_round_is_published_waits_for_it(monkeypatch, ending):
    """Both hold the population and the round: taken in two orders, PostgreSQL would end one of them."""
    series = series_publish(members=recipe_members(every="week", rounds=3), actor=None)
    pause, ended = Pause(monkeypatch, operations, "_settle"), threading.Event()
    publishing = in_thread(operations.rounds_advance)
    pause.reached()

    def end():
        if ending == "stop":
            series_stop(series=series, actor=None)
        else:
            operations._skip(series.rounds.get(number=1), "over")
        ended.set()

    stopping = in_thread(end)
    assert not ended.wait(0.5)
    pause.go_on()
    publishing.join()
    stopping.join()
    assert ended.is_set()
    assert series.rounds.get(number=1).state == Round.State.PUBLISHED

"""As many rows as there are events, though the process dies in between; nothing finer than a page tells."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User

from ledger.budget import Budget, Rule
from ledger.models import Population
from ledger.operations import population_change
from log.audit.models import Entry
from notifications.kinds import KINDS
from notifications.messages import document_of
from notifications.models import Delivery, Event, Subscription
from notifications.operations import subscription_delete, webhook_create
from notifications.outbox import budgets_watch, cohorts_watch
from notifications.tasks import watch_collections
from publishing.publication import recipe_close
from recipes.models import Recipe
from results.operations import result_withhold
from series.operations import rounds_advance, series_publish
from tests.clock import time_is
from tests.collections.notifications.scene import HOOK, read_all
from tests.factories import published_recipe, recipe_members
from tests.faults.network import Killed, killed_at_statement
from tests.scenes import account, finished_recipe, open_recipe


@pytest.fixture
def hook(site: None) -> Subscription:
    return subscribed(account("ana"))


def subscribed(user: User, *events: str) -> Subscription:
    return webhook_create(user=user, url=HOOK, events=list(events or KINDS))[0]


def told(hook: Subscription) -> list[tuple[str, str]]:
    events = Event.objects.filter(deliveries__subscription=hook).order_by("pk")
    return [(event.kind, event.subject) for event in events]


def test_each_event_is_sent_once_however_often_the_log_is_read(hook: Subscription) -> None:
    released = finished_recipe([[1]] * 12, cohort_size=10)
    withheld = recipe_close(recipe=published_recipe(), actor=None)
    result_withhold(recipe=withheld, reason="it takes too long", actor=None)
    read_all()
    read_all()
    kinds = ("recipe.published", "recipe.closed", "result.released")
    assert told(hook) == [
        *((kind, released.identifier) for kind in kinds),
        *((kind, withheld.identifier) for kind in (*kinds[:2], "result.withheld")),
    ]


@pytest.mark.django_db(transaction=True)
def test_process_that_dies_at_any_statement_loses_or_doubles_nothing(hook: Subscription) -> None:
    other = subscribed(account("otto"))
    recipe = recipe_close(recipe=published_recipe(), actor=None)
    for number in range(200):
        try:
            with killed_at_statement(number):
                read_all()
        except Killed:
            continue
        break
    else:
        pytest.fail("reading the log never came to its end")
    assert number > 5
    expected = [("recipe.published", recipe.identifier), ("recipe.closed", recipe.identifier)]
    assert told(hook) == told(other) == expected
    assert Delivery.objects.count() == 4


def test_entries_of_other_things_and_simulations_tell_nothing(hook: Subscription) -> None:
    published_recipe(simulation=True)
    account("newcomer")
    read_all()
    assert Entry.objects.exists()
    assert told(hook) == []


def test_receivers_get_what_they_chose_while_they_are_active() -> None:
    chosen = subscribed(account("ana"), "recipe.closed")
    gone = subscribed(account("otto"))
    off = subscribed(account("olga"))
    User.objects.filter(username="olga").update(is_active=False)
    subscription_delete(subscription=gone, actor=gone.user)
    recipe_close(recipe=published_recipe(), actor=None)
    read_all()
    assert [kind for kind, _ in told(chosen)] == ["recipe.closed"]
    assert told(off) == []


def test_missed_round_is_an_event_of_its_series(hook: Subscription, monkeypatch: pytest.MonkeyPatch) -> None:
    members = recipe_members(every="week", rounds=3, cohort_size=500, epsilon=0.1)
    series = series_publish(members=members, actor=None)
    late = series.published_at + timedelta(days=10)
    time_is(monkeypatch, lambda: late)
    rounds_advance()
    read_all()
    assert told(hook)[0] == ("series.round_skipped", series.identifier)
    data = document_of(Delivery.objects.earliest("pk"))["data"]
    assert data == {
        "series": series.identifier,
        "name": series.name,
        "url": f"https://telemetry.example/series/{series.identifier}/",
    }


def test_cohort_is_an_event_once_it_is_reached(hook: Subscription) -> None:
    recipe = open_recipe([0] * 9, cohort_size=10)
    cohorts_watch()
    assert told(hook) == []
    full = open_recipe([0] * 10, cohort_size=10)
    more = open_recipe([0] * 13, cohort_size=10)
    for _ in range(2):
        watch_collections()
    assert sorted(told(hook)) == sorted(
        ("recipe.cohort_reached", str(one.identifier)) for one in (full, more)
    )
    assert recipe.status == Recipe.Status.PUBLISHED


def test_no_message_has_a_number_of_reports_or_a_reason(hook: Subscription) -> None:
    for count in (10, 13):
        open_recipe([0] * count, cohort_size=10)
    withheld = recipe_close(recipe=published_recipe(cohort_size=10), actor=None)
    result_withhold(recipe=withheld, reason="only 7 came", actor=None)
    cohorts_watch()
    read_all()
    documents = [document_of(row) for row in Delivery.objects.order_by("pk")]
    assert {name for document in documents for name in document} == {"type", "id", "timestamp", "data"}
    assert {name for document in documents for name in document["data"]} == {"recipe", "name", "url"}
    reached = [document for document in documents if document["type"] == "recipe.cohort_reached"]
    shown = [{**one["data"], "recipe": "", "url": ""} for one in reached]
    assert len(shown) == 2
    assert shown[0] == shown[1], "10 and 13 reports look the same"
    # No finer than a minute: not when the last device came.
    assert all(document["timestamp"].endswith(":00Z") for document in reached)


def test_budget_nearly_spent_is_an_event_once_each_time(hook: Subscription) -> None:
    population = Population.objects.get()

    def budget(epsilon: float | None) -> None:
        rule = None if epsilon is None else Budget(epsilon=epsilon, delta=1e-6, rule=Rule.COMPOSED)
        population_change(population=population, description="", budget=rule, actor=None)
        for _ in range(2):
            budgets_watch()

    published_recipe()
    read_all()
    Event.objects.all().delete()
    budget(20.0)
    assert told(hook) == []
    budget(0.01)
    assert told(hook) == [("budget.nearly_spent", population.name)]
    budget(20.0)
    budget(0.01)
    assert told(hook) == [("budget.nearly_spent", population.name)] * 2

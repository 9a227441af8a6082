"""What may be published and what is refused, by composition and by the filter: the budget holds exactly."""

import json
import threading
from contextlib import nullcontext
from functools import partial
from typing import Any

import pytest
from django.db import transaction
from django.test import Client
from django.urls import reverse

from ledger import composition
from ledger.books import Book, Fitting
from ledger.budget import Budget, Rule
from ledger.composition import budget_use, composed_epsilon
from ledger.models import Population, Spending
from ledger.operations import (
    BookMovedError,
    BudgetExceededError,
    population_change,
    population_create,
    spending_append,
    spending_return,
)
from ledger.selectors import balance_of, population_named
from log.audit.models import Entry
from log.public_log.leaves import leaf_content
from panprivacy.accounting.epsilon_delta import EpsilonDelta
from panprivacy.accounting.interface import PrivacyEvent
from panprivacy.formats.errors import FieldError
from panprivacy.recipe.draft import RecipeDraft
from panprivacy.statistics.events.count_nonzero import CountNonzero
from publishing import publication
from publishing.publication import recipe_publish, recipe_publish_file
from recipes.budget import MOST_ATTEMPTS, Affordable, reserve, spent_with
from recipes.models import Recipe
from recipes.planner.guarantees import NotComputedError
from tests.collections.storage.answers.scene import work, workers_answer
from tests.concurrency import at_once
from tests.factories import draft_recipe, published_recipe, recipe_members
from tests.page_text import page_text
from tests.patience import PATIENCE
from tests.refusals import field_refused
from tests.scenes import account, finish, finished_recipe, open_recipe, open_stream, simulated_recipe

pytestmark = pytest.mark.django_db


DELTA = 1e-6

COHORT = {"cohort_size": 20, "epsilon": 1.0}
"""Composing costs time that grows with the cohort."""


@pytest.fixture
def without_advice(monkeypatch: pytest.MonkeyPatch) -> None:
    """A refusal does not search for what would fit, which takes seconds."""
    monkeypatch.setattr("recipes.budget.what_fits", lambda *_: "")


def events_of(**changes: Any) -> list[dict[str, Any]]:
    """The privacy events of what would be published, computed without the ledger."""
    return [
        RecipeDraft.from_mapping(recipe_members(**changes))
        .calibrated_statistic()
        .aggregator_event()
        .as_dict()
    ]


def budget_of(epsilon: float, delta: float = DELTA, rule: Rule = Rule.COMPOSED) -> Budget:
    """By composition, unless a test is about the filter: what fits is then known from the events alone."""
    return Budget(epsilon=epsilon, delta=delta, rule=rule)


def budgeted(
    epsilon: float, delta: float = DELTA, name: str = "clinics", rule: Rule = Rule.COMPOSED
) -> Population:
    return population_create(name=name, description="", budget=budget_of(epsilon, delta, rule), actor=None)


@pytest.mark.usefixtures("without_advice")
def test_publish_exactly_at_the_budget_is_allowed_and_a_hair_above_refused() -> None:
    two = composed_epsilon(events_of(**COHORT) * 2, DELTA)
    population = budgeted(two)
    published_recipe(population="clinics", **COHORT)
    just_below = budget_of(two * (1 - 1e-12))
    population_change(population=population, description="", budget=just_below, actor=None)
    with field_refused("population"):
        published_recipe(population="clinics", **COHORT)
    population_change(population=population, description="", budget=budget_of(two), actor=None)
    published_recipe(population="clinics", **COHORT)
    assert balance_of(population).spent == two


def test_refusal_says_what_is_left_and_what_would_fit_and_stores_nothing() -> None:
    """The budget is 1.6 times what one recipe spends."""
    alone = composed_epsilon(events_of(**COHORT), DELTA)
    budgeted(1.6 * alone)
    published_recipe(population="clinics", **COHORT)
    recipe = draft_recipe(population="clinics", **COHORT)
    entries = Entry.objects.count()
    with pytest.raises(FieldError, match=r"is left \(δ = 1e-6.*would do") as refused:
        recipe_publish(recipe=recipe, actor=None)
    recipe.refresh_from_db()
    assert recipe.status == Recipe.Status.DRAFT
    assert (Spending.objects.count(), Entry.objects.count()) == (1, entries)
    # What it names does fit, and the next value does not.
    advice = refused.value.message.rsplit("; ", 1)[1]
    epsilon = float(advice.split("ε = ")[1].split(" ")[0])
    cohort_size = int(advice.split("cohort size of ")[1].split(" ")[0].replace(",", ""))
    step = 10.0 ** (len(str(int(epsilon))) - 2) if epsilon >= 1 else 0.01 * 10 ** -(epsilon < 0.1)
    for changes, fits in (
        ({"epsilon": epsilon}, True),
        ({"epsilon": epsilon + step}, False),
        ({"cohort_size": cohort_size}, True),
        ({"cohort_size": cohort_size - 10 ** (len(str(cohort_size)) - 2)}, False),
    ):
        members = {"population": "clinics", **COHORT, **changes}
        with transaction.atomic(), nullcontext() if fits else pytest.raises(FieldError):
            published_recipe(**members)
            transaction.set_rollback(True)


def test_publish_without_a_budget_is_recorded_and_never_refused() -> None:
    recipes = [published_recipe(epsilon=20.0) for _ in range(3)]
    rows = Spending.objects.order_by("pk")
    assert [row.recipe for row in rows] == [recipe.identifier for recipe in recipes]
    assert {row.population.name for row in rows} == {"everyone"}
    assert [row.event for row in rows] == events_of(epsilon=20.0) * 3


def test_what_events_compose_to_is_remembered_in_any_order(monkeypatch: pytest.MonkeyPatch) -> None:
    events = events_of(**COHORT) + events_of(**COHORT | {"epsilon": 0.5})
    monkeypatch.setattr(composition, "_epsilon", lambda *_: 0.123)
    assert composed_epsilon(events, 1.5e-7) == 0.123
    monkeypatch.setattr(composition, "_epsilon", lambda *_: 0.456)
    assert composed_epsilon(events[::-1], 1.5e-7) == 0.123
    assert composed_epsilon(events[:1], 1.5e-7) == 0.456


def test_populations_do_not_share_a_budget() -> None:
    alone = composed_epsilon(events_of(**COHORT), DELTA)
    for name in ("one", "other"):
        budgeted(alone, name=name)
        published_recipe(population=name, **COHORT)
    with pytest.raises(FieldError):
        published_recipe(population="one", **COHORT)


def test_simulation_spends_nothing_and_needs_no_budget() -> None:
    budgeted(1e-6)
    simulated_recipe({0: 3, 1: 3}, population="clinics", epsilon=20.0)
    assert not Spending.objects.exists()


@pytest.mark.parametrize("simulation", [False, True])
def test_unknown_population_is_refused_by_name_with_those_there_are(simulation: bool) -> None:
    budgeted(1.0)
    draft = draft_recipe(population="nowhere")
    members = recipe_members(population="nowhere")
    for act in (
        lambda: recipe_publish(recipe=draft, actor=None, simulation=simulation),
        lambda: recipe_publish_file(members=members, actor=None, simulation=simulation),
    ):
        with field_refused("population", r"none named 'nowhere'; there are clinics, everyone"):
            act()
    assert Recipe.objects.get().status == Recipe.Status.DRAFT


def test_withheld_recipe_gives_back_what_it_spent_once() -> None:
    alone = composed_epsilon(events_of(**COHORT), DELTA)
    population = budgeted(alone)
    recipe = finish(open_recipe([1] * 3, population="clinics", **COHORT))
    (spent, returned) = Spending.objects.order_by("pk")
    assert (spent.recipe, returned.returns, returned.population) == (recipe.identifier, spent, population)
    entry = Entry.objects.get(action="result_withheld")
    assert entry.details["spending_returned"] is True
    assert spending_return(recipe=str(recipe.identifier)) == returned
    assert Spending.objects.count() == 2
    assert balance_of(population).spent == 0.0
    published_recipe(population="clinics", **COHORT)
    with pytest.raises(FieldError):
        published_recipe(population="clinics", **COHORT)


@pytest.mark.parametrize("outcome", ["released", "withheld"])
def test_recipe_with_enough_reports_never_gives_back(outcome: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # Whether the arithmetic fails may depend on what devices sent.
    def failing(*_: Any) -> Any:
        raise OverflowError

    assert spending_return(recipe="0" * 64) is None
    if outcome == "withheld":
        monkeypatch.setattr(CountNonzero, "estimate", failing)
    assert finished_recipe([[1]] * 6).release.outcome == outcome
    assert [row.kind for row in Spending.objects.all()] == ["spent"]


def test_spending_stands_and_falls_with_the_publishing(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(**_: Any) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(publication, "recipe_entry_append", failing)
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        published_recipe()
    assert not Spending.objects.exists()


def test_collusion_of_half_the_cohort_is_stored_and_costs_more() -> None:
    published_recipe(**COHORT)
    balance = balance_of(population_named("everyone"))
    assert balance.spent is not None
    assert balance.spent_if_half_colludes is not None
    assert balance.spent < balance.spent_if_half_colludes


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("without_advice")
def test_two_that_publish_at_once_cannot_both_spend_the_last_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    alone = composed_epsilon(events_of(**COHORT), DELTA)
    population = budgeted(alone)
    drafts = [draft_recipe(population="clinics", **COHORT) for _ in range(2)]
    both_have_looked = threading.Barrier(2, timeout=PATIENCE)
    prepare = publication._prepare

    def prepare_together(*arguments: Any) -> Any:
        prepared = prepare(*arguments)
        # Both found that the budget suffices, and neither has spent.
        both_have_looked.wait()
        return prepared

    monkeypatch.setattr(publication, "_prepare", prepare_together)

    def publish(draft: Recipe) -> str:
        try:
            recipe_publish(recipe=draft, actor=None)
        except FieldError as error:
            return error.field
        return "published"

    assert sorted(at_once(*(partial(publish, draft) for draft in drafts))) == ["population", "published"]
    assert Spending.objects.count() == 1
    assert sorted(Recipe.objects.values_list("status", flat=True)) == ["draft", "published"]
    assert balance_of(population).spent == alone


def test_every_change_of_a_budget_is_in_the_log_with_old_and_new_values() -> None:
    population = budgeted(2.0)
    population_change(population=population, description="Kiosks", budget=None, actor=None)
    population_change(population=population, description="Kiosks", budget=None, actor=None)
    created, was_set, changed, removed = Entry.objects.filter(subject="population clinics").order_by("index")
    assert (created.action, created.details["epsilon"]) == ("population_created", 2.0)
    assert changed.action == "population_changed"
    assert changed.details == {"description": ["", "Kiosks"], "epsilon": [2.0, None], "delta": [DELTA, None]}
    # In public, without the description.
    rule = population.rule
    assert was_set.action == removed.action == "budget_set"
    assert was_set.details == {"epsilon": 2.0, "delta": DELTA, "rule": rule}
    assert removed.details == {"epsilon": None, "delta": None, "rule": rule}


def test_what_a_recipe_spends_is_in_the_public_log_and_that_it_came_back() -> None:
    recipe = published_recipe()
    entry = Entry.objects.get(action="recipe_published")
    assert entry.details["spends"] == Spending.objects.get(recipe=recipe.identifier).event
    leaf = json.loads(leaf_content(entry))
    assert leaf["details"]["spends"] == entry.details["spends"]
    finish(recipe)
    leaf = json.loads(leaf_content(Entry.objects.get(action="result_withheld")))
    assert leaf["details"]["spending_returned"] is True
    assert "reason" not in leaf["details"]


def test_budget_below_what_is_spent_is_allowed_and_stops_publishing() -> None:
    population = budgeted(20.0)
    published_recipe(population="clinics", **COHORT)
    changed = population_change(population=population, description="", budget=budget_of(1e-6), actor=None)
    balance = balance_of(changed)
    assert balance.overspent
    assert balance.left == 0.0
    with pytest.raises(FieldError, match="no other ε, cohort size or δ alone would do"):
        published_recipe(population="clinics", **COHORT)


def test_population_with_an_impossible_or_taken_name_is_refused() -> None:
    for name in ("", "Clinics", "a b", "x" * 61, "new", "everyone", "clinics_1", 7):
        with field_refused("name"):
            population_create(name=name, description="", budget=None, actor=None)
    assert Population.objects.count() == 1


def test_budget_out_of_the_range_of_recipes_is_refused() -> None:
    for epsilon, delta, field in (
        (0, 1e-6, "epsilon"),
        (21, 1e-6, "epsilon"),
        (1, 0.5, "delta"),
        (1, 0, "delta"),
        (1, None, "delta"),
    ):
        with field_refused(field):
            Budget(epsilon=epsilon, delta=delta)


def test_recipes_whose_deltas_exceed_the_budgets_are_refused() -> None:
    # The noise of a mean over few devices: its own δ of 1e-6 twice is more than the budget's.
    members = {
        "population": "clinics",
        "statistic": "mean",
        "guarantee": "local",
        "k": 3,
        "sampling_rate": 0.5,
        "cohort_size": 100,
        "delta": 1e-6,
    }
    event = events_of(**members)
    population = budgeted(20.0, delta=1.5e-6)
    published_recipe(**members)
    assert composed_epsilon(event * 2, 1.5e-6) == float("inf")
    with pytest.raises(FieldError, match=r"together above.*the largest that fits is δ = ") as refused:
        published_recipe(**members)
    delta = refused.value.message.rsplit("δ = ", 1)[1].split(" ")[0]
    published_recipe(**members | {"delta": float(delta.replace("−", "-"))})
    assert balance_of(population).overspent is False


def test_more_like_the_last_is_the_largest_number_that_fits() -> None:
    five = composed_epsilon(events_of(**COHORT) * 5, DELTA)
    population = budgeted(five)
    published_recipe(population="clinics", **COHORT)
    assert balance_of(population).more_like_the_last == 4
    for _ in range(4):
        published_recipe(population="clinics", **COHORT)
    assert balance_of(population).more_like_the_last == 0
    with pytest.raises(FieldError):
        published_recipe(population="clinics", **COHORT)


def test_refusal_says_what_would_fit_once_a_worker_has_found_it(monkeypatch: pytest.MonkeyPatch) -> None:
    budgeted(0.001)
    sent = workers_answer(monkeypatch, previews=True)
    with field_refused("population", "what would fit is being computed"):
        published_recipe(population="clinics", **COHORT)
    work(sent)
    with pytest.raises(FieldError, match=r"would do|no other"):
        published_recipe(population="clinics", **COHORT)
    assert not Spending.objects.exists()


def test_delta_above_the_budgets_is_refused_and_what_fits_is_accepted() -> None:
    budgeted(5.0)
    changes = {"statistic": "pan_histogram", "universe_size": 20, "table_size": None, "population": "clinics"}
    with pytest.raises(FieldError, match=r"2e-6 in total.*the largest that fits is δ = ") as refused:
        open_stream(**changes, delta=1e-6)
    assert refused.value.field == "delta"
    assert not Spending.objects.exists()
    open_stream(**changes, delta=float(refused.value.message.split("δ = ")[-1]))
    # Now the rest of δ is gone.
    with field_refused("delta", "together above"):
        open_stream(**changes, delta=1e-7)


def test_condition_is_shown_in_the_book_whatever_delta_without_a_budget(client: Client) -> None:
    published_recipe()
    open_stream(statistic="pan_histogram", universe_size=20, table_size=None, delta=1e-3)
    page = page_text(client.get(reverse("population", args=["everyone"])))
    assert page.count("under the condition that each person contributes one element") == 2
    book = client.get(reverse("population-book", args=["everyone", "json"])).json()
    assert [line["condition"] for line in book["spendings"]] == ["", "each person contributes one element"]


EPSILON, LARGE_DELTA = 1.0, 1e-2


def spent(population: str, event: PrivacyEvent) -> Spending:
    recipe = f"{Spending.objects.count():064x}"
    return spending_append(population=population, recipe=recipe, event=event, event_if_half_colludes=event)


def branches() -> tuple[EpsilonDelta, EpsilonDelta, EpsilonDelta]:
    """A first release, and what an analyst chooses after each of its answers.

    Either fits the budget, and both together lose more: test_privacy_filter.py sums it up exactly."""
    first = EpsilonDelta(epsilon_given=0.5)
    more = EpsilonDelta(epsilon_given=0.525)  # 0.526 is too much
    gives_away = EpsilonDelta(epsilon_given=0.0, delta_given=0.999 * LARGE_DELTA)
    return first, more, gives_away


@pytest.mark.parametrize(("rule", "admitted"), [(Rule.COMPOSED, 2), (Rule.FILTER, 0)])
def test_choosing_by_the_result_gains_nothing_under_the_filter(rule: Rule, admitted: int) -> None:
    first, *choices = branches()
    got = 0
    for number, choice in enumerate(choices):
        budgeted(EPSILON, LARGE_DELTA, name=f"world-{number}", rule=rule)
        spent(f"world-{number}", first)
        try:
            spent(f"world-{number}", choice)
        except BudgetExceededError:
            continue
        got += 1
    assert got == admitted


def test_recipes_fit_the_filter_up_to_its_capacity() -> None:
    event = events_of(**COHORT)[0]
    of_one = budget_use([event], Budget(epsilon=1.5, delta=1e-6)).share
    budgeted(1.5, 1e-6, rule=Rule.FILTER)
    assert balance_of(population_named("clinics")).more_like_the_last is None
    for _ in range(int(1 / of_one)):
        published_recipe(population="clinics", **COHORT)
    balance = balance_of(population_named("clinics"))
    assert balance.use is not None
    assert balance.use.share == pytest.approx(int(1 / of_one) * of_one)
    assert balance.more_like_the_last == 0
    # The filter never counts less than composing does.
    assert balance.spent is not None
    assert balance.spent <= 1.5
    assert balance.left is None
    with pytest.raises(FieldError, match=r"from \d.*% to 1\d\d% \(adaptive filter for ε = 1.5.*would do"):
        published_recipe(population="clinics", **COHORT)


def test_spending_beyond_the_filters_delta_is_refused() -> None:
    population = budgeted(EPSILON, LARGE_DELTA, rule=Rule.FILTER)
    spent("clinics", EpsilonDelta(epsilon_given=0.0, delta_given=0.4 * LARGE_DELTA))
    with pytest.raises(BudgetExceededError) as refused:
        spent("clinics", EpsilonDelta(epsilon_given=0.0, delta_given=0.2 * LARGE_DELTA))
    assert refused.value.failing
    assert balance_of(population).more_like_the_last == 0


def test_new_populations_have_the_filter_until_a_rule_is_chosen(client: Client) -> None:
    client.force_login(account("root", is_superuser=True))
    budget = {"epsilon": "2", "delta": "1e-6"}
    client.post("/populations/new/", {"name": "clinics", "description": "", **budget})
    assert population_named("clinics").rule == Rule.FILTER
    client.post("/populations/clinics/edit/", {"description": "", **budget, "rule": "composed"})
    assert population_named("clinics").rule == Rule.COMPOSED
    client.post("/populations/clinics/edit/", {"description": "more", **budget})
    assert population_named("clinics").rule == Rule.COMPOSED
    refused = client.post("/populations/clinics/edit/", {"description": "", **budget, "rule": "none"})
    assert refused.status_code == 422
    assert list(refused.context["form"].errors) == ["rule"]


def test_page_and_api_show_both_numbers(client: Client) -> None:
    population_create(name="clinics", description="", budget=Budget(epsilon=2.0, delta=1e-6), actor=None)
    recipe: Any = published_recipe(population="clinics", **COHORT)
    balance = balance_of(Population.objects.get(name="clinics"))
    assert balance.use is not None
    used, composed = f"{100 * balance.use.share:.3g}%", f"{balance.spent:.3g}"
    for address in ("/populations/clinics/", "/populations/", "/"):
        page = page_text(client.get(address))
        assert used in page
        assert composed in page
    assert "holds without that assumption" in page_text(client.get("/populations/clinics/"))
    members = client.get("/api/v1/populations/clinics/").json()
    assert (members["rule"], members["used"]) == ("filter", balance.use.share)
    assert (members["spent"], members["left"]) == (balance.spent, None)
    assert members["spendings"][0]["recipe"] == recipe.identifier


def test_change_of_the_rule_keeps_what_is_spent() -> None:
    alone = budget_use(events_of(**COHORT), Budget(epsilon=1.0, delta=1e-6)).share
    population = budgeted(1.0, 1e-6)
    published_recipe(population="clinics", **COHORT)
    budget = Budget(epsilon=1.0, delta=1e-6, rule=Rule.FILTER)
    changed = population_change(population=population, description="", budget=budget, actor=None)
    balance = balance_of(changed)
    assert balance.use is not None
    assert balance.use.share == alone
    assert balance.overspent == (alone > 1)


def test_spending_that_was_found_to_fit_is_refused_if_the_book_moved() -> None:
    population, (cost, other) = budgeted(20.0), branches()[:2]
    fitting = Fitting(Book.of(population), cost.as_dict())

    def spend(event: PrivacyEvent) -> Spending:
        return spending_append(
            population="clinics",
            recipe=f"{Spending.objects.count():064x}",
            event=event,
            event_if_half_colludes=event,
            fitting=fitting,
        )

    with pytest.raises(ValueError, match="another cost"):
        spend(other)
    population_change(population=population, description="", budget=budget_of(1.0), actor=None)
    with pytest.raises(BookMovedError):
        spend(cost)
    population_change(population=population, description="", budget=budget_of(20.0), actor=None)
    spend(cost)
    with pytest.raises(BookMovedError):
        spend(cost)
    assert Spending.objects.count() == 1


@pytest.mark.parametrize("others", [1, MOST_ATTEMPTS])
def test_spending_is_found_out_anew_while_others_spend(others: int) -> None:
    budgeted(20.0)
    draft = RecipeDraft.from_mapping(recipe_members(**COHORT, population="clinics"))
    left = [branches()[1]] * others

    def write(affordable: Affordable) -> str:
        if left:
            spent("clinics", left.pop())
        reserve(affordable, "clinics", ["rounds"])
        return "written"

    if others == MOST_ATTEMPTS:
        with pytest.raises(NotComputedError):
            spent_with(draft, write)
    else:
        assert spent_with(draft, write) == "written"
    assert Spending.objects.filter(recipe="rounds").exists() == (others < MOST_ATTEMPTS)

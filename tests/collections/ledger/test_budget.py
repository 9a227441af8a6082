"""What may be published, and what is refused: the budget holds exactly, whoever comes first."""

import json
import threading
from contextlib import ExitStack
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import DatabaseError, connection, transaction
from django.test import Client
from django.urls import reverse

from audit.models import Entry
from ledger import composed
from ledger.budget import Budget, Rule
from ledger.composed import composed_epsilon
from ledger.models import Population, Spending
from ledger.operations import population_change, population_create, spending_return
from ledger.selectors import balance_of, population_named
from panprivacy.errors import FieldError
from public_log.leaves import leaf_content
from recipes.models import Recipe
from tests.factories import draft_recipe, published_recipe, recipe_members
from tests.page_text import page_text
from tests.patience import PATIENCE
from tests.scenes import finish, finished_recipe, open_recipe, open_stream, simulated_recipe
from trust_models import publishing
from trust_models.publishing import recipe_publish, recipe_publish_file
from web import turns

DELTA = 1e-6

COHORT = {"cohort_size": 20, "epsilon": 1.0}
"""Composing costs time that grows with the cohort."""


def events_of(**changes: Any) -> list[dict[str, Any]]:
    """The privacy events of what would be published, computed without the ledger."""
    from panprivacy.recipe_draft import RecipeDraft

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


@pytest.mark.django_db
def test_publish_exactly_at_the_budget_is_allowed_and_a_hair_above_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("recipes.budget.SEARCH_SECONDS", -1.0)  # what would fit is another test's
    two = composed_epsilon(events_of(**COHORT) * 2, DELTA)
    population = budgeted(two)
    published_recipe(population="clinics", **COHORT)
    just_below = budget_of(two * (1 - 1e-12))
    population_change(population=population, description="", budget=just_below, actor=None)
    with pytest.raises(FieldError) as refused:
        published_recipe(population="clinics", **COHORT)
    assert refused.value.field == "population"
    population_change(population=population, description="", budget=budget_of(two), actor=None)
    published_recipe(population="clinics", **COHORT)
    assert balance_of(population).spent == two


@pytest.mark.django_db
def test_refusal_does_not_wait_for_what_would_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    """It used to look for it however long it took."""
    monkeypatch.setattr("recipes.budget.SEARCH_SECONDS", -1.0)
    budgeted(0.5 * composed_epsilon(events_of(**COHORT), DELTA))
    with pytest.raises(FieldError, match="what would fit takes longer to find"):
        published_recipe(population="clinics", **COHORT)


@pytest.mark.django_db
@pytest.mark.parametrize("room", [1.6, pytest.param(1.2, marks=pytest.mark.long)])
def test_refusal_says_what_is_left_and_what_would_fit_and_stores_nothing(room: float) -> None:
    """With room for twice 80% of it, or 60%: then a cohort would fit that takes seconds to compose."""
    alone = composed_epsilon(events_of(**COHORT), DELTA)
    budgeted(room * alone)
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
        if fits:
            with transaction.atomic():
                published_recipe(**members)
                transaction.set_rollback(True)
        else:
            with pytest.raises(FieldError):
                published_recipe(**members)


@pytest.mark.django_db
def test_publish_without_a_budget_is_recorded_and_never_refused() -> None:
    recipes = [published_recipe(epsilon=20.0) for _ in range(3)]
    rows = Spending.objects.order_by("pk")
    assert [row.recipe for row in rows] == [recipe.identifier for recipe in recipes]
    assert {row.population.name for row in rows} == {"everyone"}
    assert [row.event for row in rows] == events_of(epsilon=20.0) * 3


def test_what_events_compose_to_is_remembered_in_any_order(monkeypatch: pytest.MonkeyPatch) -> None:
    events = events_of(**COHORT) + events_of(**COHORT | {"epsilon": 0.5})
    monkeypatch.setattr(composed, "_epsilon", lambda *_: 0.123)
    assert composed_epsilon(events, 1.5e-7) == 0.123
    monkeypatch.setattr(composed, "_epsilon", lambda *_: 0.456)
    assert composed_epsilon(events[::-1], 1.5e-7) == 0.123
    assert composed_epsilon(events[:1], 1.5e-7) == 0.456


@pytest.mark.django_db
def test_populations_do_not_share_a_budget() -> None:
    alone = composed_epsilon(events_of(**COHORT), DELTA)
    for name in ("one", "other"):
        budgeted(alone, name=name)
        published_recipe(population=name, **COHORT)
    with pytest.raises(FieldError):
        published_recipe(population="one", **COHORT)


@pytest.mark.django_db
def test_simulation_spends_nothing_and_needs_no_room() -> None:
    budgeted(1e-6)
    simulated_recipe({0: 3, 1: 3}, population="clinics", epsilon=20.0)
    assert not Spending.objects.exists()


@pytest.mark.django_db
@pytest.mark.parametrize("simulation", [False, True])
def test_unknown_population_is_refused_by_name_with_those_there_are(simulation: bool) -> None:
    budgeted(1.0)
    draft = draft_recipe(population="nowhere")
    members = recipe_members(population="nowhere")
    for act in (
        lambda: recipe_publish(recipe=draft, actor=None, simulation=simulation),
        lambda: recipe_publish_file(members=members, actor=None, simulation=simulation),
    ):
        with pytest.raises(FieldError, match=r"none named 'nowhere'; there are clinics, everyone") as refused:
            act()
        assert refused.value.field == "population"
    assert Recipe.objects.get().status == Recipe.Status.DRAFT


@pytest.mark.django_db
def test_publish_command_shows_the_refusal(tmp_path: Any) -> None:
    import json

    budgeted(1e-6)
    file = tmp_path / "recipe.json"
    file.write_text(json.dumps(recipe_members(population="clinics", epsilon=20.0, cohort_size=2)))
    with pytest.raises(CommandError, match="population: the budget of clinics would be exceeded") as refused:
        call_command("recipe", "publish", str(file))
    assert refused.value.returncode == 2


@pytest.mark.django_db
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


@pytest.mark.django_db
def test_released_recipe_never_gives_back() -> None:
    finished_recipe([[1]] * 6)
    assert [row.kind for row in Spending.objects.all()] == ["spent"]


@pytest.mark.django_db
def test_recipe_withheld_although_enough_reported_gives_nothing_back(monkeypatch: pytest.MonkeyPatch) -> None:
    # Whether the arithmetic fails may depend on what devices sent.
    from panprivacy.mechanisms.count_nonzero import CountNonzero

    def failing(*_: Any) -> Any:
        raise OverflowError

    monkeypatch.setattr(CountNonzero, "estimate", failing)
    recipe = finished_recipe([[1]] * 6)
    assert recipe.release.outcome == "withheld"
    assert [row.kind for row in Spending.objects.all()] == ["spent"]


@pytest.mark.django_db
def test_return_of_what_was_never_spent_does_nothing() -> None:
    assert spending_return(recipe="0" * 64) is None
    assert not Spending.objects.exists()


@pytest.mark.django_db
def test_spending_stands_and_falls_with_the_publishing(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(**_: Any) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(publishing, "entry_append", failing)
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        published_recipe()
    assert not Spending.objects.exists()


@pytest.mark.django_db
def test_collusion_of_half_the_cohort_is_stored_and_costs_more() -> None:
    published_recipe(**COHORT)
    balance = balance_of(population_named("everyone"))
    assert balance.spent is not None
    assert balance.spent_if_half_colludes is not None
    assert balance.spent < balance.spent_if_half_colludes


@pytest.mark.django_db(transaction=True)
def test_two_who_publish_at_the_same_moment_cannot_both_spend_the_last_of_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    alone = composed_epsilon(events_of(**COHORT), DELTA)
    population = budgeted(alone)
    drafts = [draft_recipe(population="clinics", **COHORT) for _ in range(2)]
    both_have_looked = threading.Barrier(2, timeout=PATIENCE)
    prepare = publishing._prepare

    def prepare_together(*arguments: Any) -> Any:
        prepared = prepare(*arguments)
        # Both were told that there is room, and neither has spent.
        both_have_looked.wait()
        return prepared

    monkeypatch.setattr(publishing, "_prepare", prepare_together)
    outcomes: list[str] = []

    def publish(draft: Recipe) -> None:
        try:
            recipe_publish(recipe=draft, actor=None)
            outcomes.append("published")
        except FieldError as error:
            outcomes.append(error.field)
        finally:
            connection.close()

    threads = [threading.Thread(target=publish, args=(draft,)) for draft in drafts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert sorted(outcomes) == ["population", "published"]
    assert Spending.objects.count() == 1
    assert sorted(Recipe.objects.values_list("status", flat=True)) == ["draft", "published"]
    assert balance_of(population).spent == alone


@pytest.mark.django_db
@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM ledger_spending",
        "UPDATE ledger_spending SET event = '{}'",
        "UPDATE ledger_spending SET recipe = 'x'",
        "DELETE FROM ledger_population",
        "UPDATE ledger_population SET name = 'x'",
    ],
)
def test_database_refuses_to_change_the_book(statement: str) -> None:
    published_recipe()
    with pytest.raises(DatabaseError, match=r"append-only|keeps its name"), transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute(statement)


@pytest.mark.django_db
def test_every_change_of_a_budget_is_in_the_log_with_old_and_new_values() -> None:
    population = budgeted(2.0)
    population_change(population=population, description="Kiosks", budget=None, actor=None)
    population_change(population=population, description="Kiosks", budget=None, actor=None)
    created, was_set, changed, removed = Entry.objects.filter(subject="population clinics").order_by("index")
    assert (created.action, created.details["epsilon"]) == ("population_created", 2.0)
    assert changed.action == "population_changed"
    assert changed.details == {"description": ["", "Kiosks"], "epsilon": [2.0, None], "delta": [DELTA, None]}
    # For everybody, without the description.
    rule = population.rule
    assert was_set.action == removed.action == "budget_set"
    assert was_set.details == {"epsilon": 2.0, "delta": DELTA, "rule": rule}
    assert removed.details == {"epsilon": None, "delta": None, "rule": rule}


@pytest.mark.django_db
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


@pytest.mark.django_db
def test_budget_below_what_is_spent_is_allowed_and_stops_publishing() -> None:
    population = budgeted(20.0)
    published_recipe(population="clinics", **COHORT)
    changed = population_change(population=population, description="", budget=budget_of(1e-6), actor=None)
    balance = balance_of(changed)
    assert balance.overspent
    assert balance.left == 0.0
    with pytest.raises(FieldError, match="no other ε, cohort size or δ alone would do"):
        published_recipe(population="clinics", **COHORT)


@pytest.mark.django_db
@pytest.mark.parametrize("name", ["", "Clinics", "a b", "x" * 61, "new", "everyone", "clinics_1", 7])
def test_population_with_an_impossible_or_taken_name_is_refused(name: Any) -> None:
    with pytest.raises(FieldError) as refused:
        population_create(name=name, description="", budget=None, actor=None)
    assert refused.value.field == "name"
    assert Population.objects.count() == 1


@pytest.mark.parametrize(
    ("epsilon", "delta", "field"),
    [(0, 1e-6, "epsilon"), (21, 1e-6, "epsilon"), (1, 0.5, "delta"), (1, 0, "delta"), (1, None, "delta")],
)
def test_budget_out_of_the_range_of_recipes_is_refused(epsilon: Any, delta: Any, field: str) -> None:
    with pytest.raises(FieldError) as refused:
        Budget(epsilon=epsilon, delta=delta)
    assert refused.value.field == field


@pytest.mark.django_db
def test_recipes_that_fail_with_more_than_the_budgets_delta_are_refused_with_a_delta_that_fits() -> None:
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


@pytest.mark.django_db
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


@pytest.mark.django_db
def test_refusal_comes_without_advice_where_others_compute(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("web.turns.WAIT_SECONDS", 0.0)
    budgeted(0.001)
    with ExitStack() as others:
        for _ in range(turns.AT_ONCE):
            others.enter_context(turns.turn())
        with pytest.raises(FieldError, match="ask again in a minute") as refused:
            published_recipe(population="clinics", **COHORT)
    assert refused.value.field == "population"
    with pytest.raises(FieldError) as refused:
        published_recipe(population="clinics", **COHORT)
    assert "in a minute" not in refused.value.message


@pytest.mark.django_db
def test_delta_above_the_budgets_is_refused_at_the_delta_and_what_fits_is_accepted() -> None:
    budgeted(5.0)
    changes = {"statistic": "pan_histogram", "universe_size": 20, "table_size": None, "population": "clinics"}
    with pytest.raises(FieldError, match=r"2e-6 in total.*the largest that fits is δ = ") as refused:
        open_stream(**changes, delta=1e-6)
    assert refused.value.field == "delta"
    assert not Spending.objects.exists()
    open_stream(**changes, delta=float(refused.value.message.split("δ = ")[-1]))
    # Now the rest of δ is gone.
    with pytest.raises(FieldError, match="together above") as full:
        open_stream(**changes, delta=1e-7)
    assert full.value.field == "delta"


@pytest.mark.django_db
def test_delta_above_what_no_budget_asks_for_is_not_refused() -> None:
    open_stream(statistic="pan_histogram", universe_size=20, table_size=None, delta=1e-3)
    assert Spending.objects.get().condition == "everybody contributes one element"


@pytest.mark.django_db
def test_condition_stands_on_its_line_of_the_book_and_in_the_files(client: Client) -> None:
    published_recipe()
    open_stream(statistic="pan_histogram", universe_size=20, table_size=None, delta=1e-7)
    page = page_text(client.get(reverse("population", args=["everyone"])))
    assert page.count("under the condition that everybody contributes one element") == 2
    book = client.get(reverse("population-book", args=["everyone", "json"])).json()
    assert [line["condition"] for line in book["spendings"]] == ["", "everybody contributes one element"]

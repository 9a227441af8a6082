"""The rule of a budget: composition, or a filter that holds against whoever chooses by results."""

from typing import Any

import pytest
from django.test import Client

from ledger.budget import Budget, Rule
from ledger.composed import budget_use
from ledger.models import Population, Spending
from ledger.operations import (
    BudgetExceededError,
    population_change,
    population_create,
    spending_append,
)
from ledger.selectors import balance_of, population_named
from panprivacy.accounting.given import GivenGuarantee
from panprivacy.accounting.interface import PrivacyEvent
from panprivacy.errors import FieldError
from tests.collections.ledger.test_budget import COHORT, budgeted, events_of
from tests.factories import published_recipe
from tests.page_text import page_text
from tests.scenes import account

pytestmark = pytest.mark.django_db

EPSILON, DELTA = 1.0, 1e-2


def spent(population: str, event: PrivacyEvent) -> Spending:
    recipe = f"{Spending.objects.count():064x}"
    return spending_append(population=population, recipe=recipe, event=event, event_if_half_colludes=event)


def branches() -> tuple[GivenGuarantee, GivenGuarantee, GivenGuarantee]:
    """A first release, and what an analyst chooses after each of its answers.

    Either fits the budget, and both together lose more: test_privacy_filter.py sums it up exactly."""
    first = GivenGuarantee(epsilon_given=0.5)
    more = GivenGuarantee(epsilon_given=0.525)  # 0.526 is too much
    gives_away = GivenGuarantee(epsilon_given=0.0, delta_given=0.999 * DELTA)
    return first, more, gives_away


@pytest.mark.parametrize(("rule", "admitted"), [(Rule.COMPOSED, 2), (Rule.FILTER, 0)])
def test_analyst_who_chooses_by_the_result_gets_either_choice_by_composition_and_none_by_the_filter(
    rule: Rule, admitted: int
) -> None:
    first, *choices = branches()
    got = 0
    for number, choice in enumerate(choices):
        budgeted(EPSILON, DELTA, name=f"world-{number}", rule=rule)
        spent(f"world-{number}", first)
        try:
            spent(f"world-{number}", choice)
        except BudgetExceededError:
            continue
        got += 1
    assert got == admitted


def test_recipes_fit_the_filter_up_to_its_capacity_and_the_refusal_says_how_much_is_used() -> None:
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


def test_budget_with_room_for_epsilon_but_not_for_what_may_fail_is_refused_for_its_delta() -> None:
    population = budgeted(EPSILON, DELTA, rule=Rule.FILTER)
    spent("clinics", GivenGuarantee(epsilon_given=0.0, delta_given=0.4 * DELTA))
    with pytest.raises(BudgetExceededError) as refused:
        spent("clinics", GivenGuarantee(epsilon_given=0.0, delta_given=0.2 * DELTA))
    assert refused.value.failing
    assert balance_of(population).more_like_the_last == 0


def test_new_populations_have_the_filter_and_a_request_without_a_rule_leaves_it_alone(client: Client) -> None:
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


def test_change_of_the_rule_keeps_what_is_spent_and_can_leave_no_room() -> None:
    alone = budget_use(events_of(**COHORT), Budget(epsilon=1.0, delta=1e-6)).share
    population = budgeted(1.0, 1e-6)
    published_recipe(population="clinics", **COHORT)
    budget = Budget(epsilon=1.0, delta=1e-6, rule=Rule.FILTER)
    changed = population_change(population=population, description="", budget=budget, actor=None)
    balance = balance_of(changed)
    assert balance.use is not None
    assert balance.use.share == alone
    assert balance.overspent == (alone > 1)

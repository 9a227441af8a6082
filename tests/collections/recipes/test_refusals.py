"""What keeps a recipe from being published, and that the values named as fitting are the last that do."""

from typing import Any

import pytest

from ledger.budget import Budget, Rule
from ledger.operations import population_create
from panprivacy.accounting.composition import epsilon_of
from panprivacy.accounting.privacy_filter import PrivacyFilter
from panprivacy.accounting.trust import Trust
from panprivacy.formats.errors import FieldError
from panprivacy.planning.value_search import with_value
from panprivacy.recipe.draft import RecipeDraft
from panprivacy.statistics.interface import Statistic
from recipes.cost import Cost, statistic_members
from recipes.refusals import Refusals, refusals_of
from tests.collections.storage.answers.scene import work, workers_answer
from tests.factories import published_recipe, recipe_members

pytestmark = pytest.mark.django_db


DELTA = 1e-6
STEP = 1.0101
"""Beyond a suggested value times this lies nothing that fits: the next value with three digits is at most one
in a hundred away."""


def statistic_of(**changes: Any) -> Statistic[Any]:
    members = recipe_members(**{"cohort_size": 20, "epsilon": 2.0, "population": "clinics", **changes})
    return RecipeDraft.from_mapping(members).calibrated_statistic()


def refused(statistic: Statistic[Any], population: str | None = "clinics") -> Refusals:
    members = statistic_members(statistic.statistic, statistic.parameters, Trust.SINGLE_SERVER, 0)
    return refusals_of(Cost(members), population)


def share(statistic: Statistic[Any], times_before: int, budget: Budget) -> float:
    """What would be used of the budget, without the ledger: the mathematics alone."""
    spent = statistic_of(epsilon=1.0).aggregator_event()
    events = [spent] * times_before + [statistic.aggregator_event()]
    if budget.rule is Rule.FILTER:
        return PrivacyFilter(budget.epsilon, budget.delta).share(events)
    return epsilon_of(events, budget.delta) / budget.epsilon


def values(found: Refusals) -> dict[str, float]:
    return {remedy.name: remedy.value for remedy in found.remedies}


@pytest.mark.parametrize("rule", list(Rule))
@pytest.mark.parametrize("times_before", [0, 1])
def test_values_named_as_fitting_are_the_last_that_fit(rule: Rule, times_before: int) -> None:
    epsilon = (2.5 if rule is Rule.FILTER else 1.9) + times_before * 0.9
    budget = Budget(epsilon=epsilon, delta=DELTA, rule=rule)
    population_create(name="clinics", description="", budget=budget, actor=None)
    for _ in range(times_before):
        published_recipe(population="clinics", cohort_size=20, epsilon=1.0)
    wanted = statistic_of()
    assert share(wanted, times_before, budget) > 1
    found = refused(wanted)
    assert [error.field for error in found.errors] == ["population"]
    named = values(found)
    assert set(named) == {"epsilon", "cohort_size"}
    for name, beyond in (("epsilon", STEP), ("cohort_size", 1 / STEP)):
        fitting = with_value(wanted, name, named[name])
        assert share(fitting, times_before, budget) <= 1
        value = named[name] * beyond
        value = min(int(value), int(named[name]) - 1) if name == "cohort_size" else value
        assert share(with_value(wanted, name, value), times_before, budget) > 1


def test_value_named_as_fitting_is_published_as_it_stands() -> None:
    population_create(name="clinics", description="", budget=Budget(epsilon=2.5, delta=DELTA), actor=None)
    epsilon = values(refused(statistic_of()))["epsilon"]
    with pytest.raises(FieldError):
        published_recipe(population="clinics", cohort_size=20, epsilon=epsilon * STEP)
    published_recipe(population="clinics", cohort_size=20, epsilon=epsilon)


@pytest.mark.parametrize(
    "limits", [{"cohort_size": 1_234}, {"cohort_size": 100, "epsilon": 1.0}, {"delta": 1e-7}, {}]
)
def test_limits_of_the_site_are_named_exactly(settings: Any, limits: dict[str, float]) -> None:
    for field, name in (
        ("cohort_size", "SMALLEST_COHORT"),
        ("epsilon", "LARGEST_EPSILON"),
        ("delta", "LARGEST_DELTA"),
    ):
        setattr(settings, name, limits.get(field, getattr(settings, name)))
    found = refused(statistic_of(), None)
    assert [error.field for error in found.errors] == list(limits)
    assert values(found) == limits
    with pytest.raises(FieldError, match="none named 'nowhere'"):
        refused(statistic_of(), "nowhere")


def test_remedy_does_away_with_limit_and_budget_at_once(settings: Any) -> None:
    settings.LARGEST_EPSILON = 3.0
    population_create(name="clinics", description="", budget=Budget(epsilon=2.0, delta=DELTA), actor=None)
    wanted = with_value(statistic_of(), "epsilon", 8.0)
    found = refused(wanted)
    assert [error.field for error in found.errors] == ["epsilon", "population"]
    fitting = with_value(wanted, "epsilon", values(found)["epsilon"])
    assert not refused(fitting).errors


def test_search_that_has_not_ended_says_so_and_names_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    population_create(name="clinics", description="", budget=Budget(epsilon=0.5, delta=DELTA), actor=None)
    sent = workers_answer(monkeypatch)
    assert refused(statistic_of()) == Refusals(late=True)
    work(sent)
    found = refused(statistic_of())
    assert (found.late, [error.field for error in found.errors]) == (False, ["population"])


def test_no_epsilon_is_named_if_the_whole_delta_is_spent() -> None:
    population_create(name="clinics", description="", budget=Budget(epsilon=5.0, delta=1e-9), actor=None)
    wanted = statistic_of(statistic="mean", k=3, cohort_size=30, guarantee="aggregator")
    found = refused(wanted)
    assert set(values(found)) <= {"delta"}

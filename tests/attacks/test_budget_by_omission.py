"""A request to `populations/…/edit/` that lacks ε and δ must not remove the budget: no budget is a choice."""

import pytest
from django.test import Client

from ledger.budget import Budget
from ledger.models import Population
from ledger.operations import population_create
from tests.scenes import account

EDIT = "/populations/clinics/edit/"
BUDGET = Budget(epsilon=2.0, delta=1e-6)
WHOLE = {"description": "Terminals", "epsilon": "2", "delta": "1e-6", "rule": "filter"}

pytestmark = pytest.mark.django_db


@pytest.fixture
def administrator(client: Client) -> Client:
    ada = account("ada", is_staff=True, is_superuser=True)
    population_create(name="clinics", description="Terminals", budget=BUDGET, actor=ada)
    client.force_login(ada)
    return client


def clinics() -> Population:
    return Population.objects.get(name="clinics")


@pytest.mark.parametrize(
    ("data", "missing"),
    [
        ({name: value for name, value in WHOLE.items() if name != "description"}, {"description"}),
        ({name: value for name, value in WHOLE.items() if name != "epsilon"}, {"epsilon"}),
        ({name: value for name, value in WHOLE.items() if name != "delta"}, {"delta"}),
        ({}, {"description", "epsilon", "delta"}),
        ({"description": "", "epsilon": "", "delta": ""}, {"epsilon", "delta"}),
    ],
)
def test_missing_field_is_named_and_nothing_is_changed(
    administrator: Client, data: dict[str, str], missing: set[str]
) -> None:
    answer = administrator.post(EDIT, data)
    assert answer.status_code == 422
    assert set(answer.context["form"].errors) >= missing
    assert (clinics().budget, clinics().description) == (BUDGET, "Terminals")


def test_no_budget_is_chosen_and_not_mixed_with_one(administrator: Client) -> None:
    mixed = administrator.post(EDIT, {**WHOLE, "no_budget": "on"})
    assert (mixed.status_code, set(mixed.context["form"].errors)) == (422, {"no_budget"})
    assert clinics().budget == BUDGET
    administrator.post(EDIT, {"description": "", "epsilon": "", "delta": "", "no_budget": "on"})
    assert clinics().budget is None
    assert administrator.get(EDIT).context["form"]["no_budget"].value() is True


def test_new_population_says_whether_it_has_a_budget(administrator: Client) -> None:
    answer = administrator.post("/populations/new/", {"name": "wards", "description": ""})
    assert (answer.status_code, set(answer.context["form"].errors)) == (422, {"epsilon", "delta"})
    administrator.post("/populations/new/", {"name": "wards", "description": "", "no_budget": "on"})
    assert Population.objects.get(name="wards").budget is None

"""The log in sentences: with names and links, for every action of this site, and for others too."""

import itertools
import json
from importlib import import_module
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import Group, User
from django.test import Client
from django.urls import reverse

from ledger.budget import Budget
from ledger.operations import population_change, population_create
from log.audit.models import Entry
from log.audit.operations import entry_append
from log.audit.registry import _DECLARED, Action, action_choices
from pages.words import log_sentences
from pages.words.log_sentences import told
from panapp.roles import ROLES
from recipes.operations import recipe_draft_delete, recipe_draft_save
from tests.factories import draft_recipe, published_recipe, recipe_members
from tests.page_text import page_text
from tests.scenes import account, analyst, announced, auditor, finished_recipe, open_stream

pytestmark = pytest.mark.django_db

SITE_APPS = ROLES["all-in-one"].apps


def partners_actions() -> set[str]:
    """Names of the actions of other roles' apps, which run here for tests. Their logs are not here."""
    modules = [import_module(f"{app}.actions") for app in settings.INSTALLED_APPS if app not in SITE_APPS]
    return {value.name for module in modules for value in vars(module).values() if isinstance(value, Action)}


@pytest.fixture
def reader(client: Client) -> Client:
    client.force_login(auditor())
    return client


def sentence(action: str, **filters: Any) -> str:
    entry = Entry.objects.filter(action=action, **filters).latest("index")
    return str(told([entry], drafts=True)[0].sentence)


def test_every_action_of_this_site_has_a_sentence() -> None:
    declared = {name for name, _ in action_choices()}
    assert set(log_sentences._SENTENCES) == declared - partners_actions()


def test_sentences_have_recipes_names_with_links(reader: Client) -> None:
    recipe = published_recipe(name="Crash <b>counter")
    address = reverse("recipe", args=[recipe.identifier])
    page = page_text(reader.get("/audit/"))
    asked = '<a href="/populations/everyone/">everyone</a>'
    link = f'“<a href="{address}">Crash &lt;b&gt;counter</a>”'
    assert f"The system published the recipe {link} for the population “{asked}”." in page
    entry = Entry.objects.get(action="recipe_published")
    assert link in page_text(reader.get(reverse("audit-entry", args=[entry.index])))


def test_sentences_have_what_came_of_results_and_intrusions() -> None:
    finished_recipe([[0]] * 6)
    assert sentence("result_released").endswith("</a>” was released.")
    finished_recipe([[0]] * 2)
    withheld = sentence("result_withheld")
    assert "was withheld: " in withheld
    assert withheld.endswith("What it had spent was given back.")
    assert sentence("recipe_closed").startswith("The system closed the recipe “<a")
    announced(open_stream())
    assert "announced intrusion 1 of 2 into the state of “<a" in sentence("intrusion_announced")
    assert sentence("intrusion_announced").endswith(": File 7")


def test_drafts_are_linked_for_permitted_readers_only(client: Client) -> None:
    ana = analyst()
    draft = recipe_draft_save(members=recipe_members(name="Plan B"), actor=ana)
    link = f'“<a href="{reverse("recipe-draft", args=[draft.pk])}">Plan B</a>”'
    assert sentence("draft_saved") == f"ana drafted the recipe {link}."
    entry = Entry.objects.get(action="draft_saved")
    assert str(told([entry], drafts=False)[0].sentence) == "ana drafted the recipe “Plan B”."
    recipe_draft_save(members=recipe_members(name="Plan B", epsilon=1.0, steps=5), actor=ana, recipe=draft)
    assert sentence("draft_saved") == f"ana changed epsilon and steps of the draft {link}."
    recipe_draft_delete(recipe=draft, actor=ana)
    assert sentence("draft_deleted") == "ana deleted the draft “Plan B”."


def test_sentences_have_budgets_of_populations() -> None:
    budget = Budget(epsilon=2.0, delta=1e-6)
    population = population_create(name="clinics", description="", budget=budget, actor=None)
    link = '“<a href="/populations/clinics/">clinics</a>”'
    assert sentence("population_created") == (
        f"The system created the population {link} with a budget of ε = 2, δ = 1e-6."
    )
    changed = Budget(epsilon=3.0, delta=1e-6)
    population_change(population=population, description="", budget=changed, actor=None)
    assert sentence("population_changed") == f"The system changed the population {link}: ε from 2 to 3."


def test_sentences_have_accounts_and_permissions() -> None:
    user = account("bob", "Analysts")
    assert sentence("account_changed") == "The system created the account “bob”."
    assert sentence("permission_changed", subject="bob") == "The system let the account “bob” join Analysts."
    user.is_staff = True
    user.save()
    staff = sentence("permission_changed", subject="bob")
    assert staff == "The system changed what the account “bob” is: staff: yes."
    user.groups.clear()
    left = sentence("permission_changed", subject="bob")
    assert left == "The system took the account “bob” out of Analysts."
    group = Group.objects.create(name="Guests")
    group.name = "Friends"
    group.save()
    assert sentence("permission_changed") == "The system renamed the group “Guests” to “Friends”."
    user.set_password("another one")
    user.save()
    assert sentence("account_changed") == "The system changed the password of “bob”."
    User.objects.get(pk=user.pk).delete()
    assert sentence("account_changed") == "The system deleted the account “bob”."


def test_action_without_a_sentence_is_shown_by_its_title(monkeypatch: pytest.MonkeyPatch) -> None:
    action = Action("report_exported", "Report exported", public=False)
    monkeypatch.setitem(_DECLARED, action.name, action)
    entry_append(action=action, subject="<i>x", actor=None, details={})
    assert sentence("report_exported") == "Report exported: “&lt;i&gt;x”. By the system."


def test_entry_with_details_of_another_version_is_shown_all_the_same() -> None:
    strange: list[dict[str, Any]] = [{}, {"change": 3}, {"change": "flags"}, {"epsilon": 1}, {"number": None}]
    subjects = itertools.cycle(("population ", "population a b", "draft x", "draft 9", "x" * 64, "²"))
    for name in log_sentences._SENTENCES:
        for details in strange:
            entry_append(action=_DECLARED[name], subject=next(subjects), actor=None, details=details)
    shown = told(Entry.objects.all(), drafts=True)
    assert all(str(one.sentence).strip() for one in shown)


def test_search_finds_recipes_and_drafts_by_name_and_question(reader: Client) -> None:
    recipe = published_recipe(name="Slow forms", question="How slow?")
    published_recipe(name="Other")
    plan = draft_recipe(name="Slow plan")
    page = reader.get("/audit/", {"q": "slow"}).context["page"]
    found = {recipe.identifier, f"draft {recipe.pk}", f"draft {plan.pk}"}
    assert {row.subject for row in page.rows} == found
    assert reader.get("/audit/", {"q": "how slow"}).context["page"].rows
    exported = json.loads(reader.get("/audit/export.json", {"q": "slow"}).getvalue())
    assert len(exported) == len(page.rows)

"""Rules are made, fire once for each result, and are their account's own."""

import json
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from notifications.models import Check, Event, Rule
from notifications.operations import webhook_create
from notifications.outbox import rules_check
from notifications.rules import firings_since, rule_create, subject_of
from panprivacy.formats.errors import FieldError
from panprivacy.recipe.series import SeriesDraft
from publishing.publication import recipe_close
from recipes.models import Recipe
from results.operations import result_withhold
from series.operations import round_simulated, series_publish, series_publish_simulated
from tests.collections.notifications.scene import HOOK, read_all
from tests.collections.simulations.scene import start
from tests.factories import published_recipe, recipe_members
from tests.faults.network import Killed, killed_at_statement
from tests.page_text import page_text
from tests.scenes import account, finish, open_recipe


@pytest.fixture
def ana(db: None) -> User:
    return account("ana", "Analysts")


@pytest.fixture
def client_of_ana(ana: User) -> Client:
    client = Client()
    client.force_login(ana)
    return client


def post(client: Client, **members: Any) -> Any:
    return client.post(reverse("api-rules"), json.dumps(members), content_type="application/json")


def watched(user: User, recipe: Recipe, **members: Any) -> Rule:
    return rule_create(user=user, subject=subject_of(recipe=str(recipe.identifier)), **members)


def test_rule_of_a_series_says_its_false_alarm_rate(client_of_ana: Client, ana: User) -> None:
    series = series_publish(members=recipe_members(every="week", rounds=3), actor=None)
    made = post(client_of_ana, series=series.identifier, when="changed", over_rounds=20)
    assert made.status_code == 201
    found = made.json()
    assert (found["false_alarm_rate"], found["over_rounds"], found["firings"]) == (0.05, 20, [])
    assert (
        "In 20 rounds without a change, this rule fires with a probability of at most 5%."
        in found["sentence"]
    )
    assert (
        post(client_of_ana, series=series.identifier, when="changed", over_rounds=20).json()["id"]
        == found["id"]
    )
    assert [one["id"] for one in client_of_ana.get(reverse("api-rules")).json()["results"]] == [found["id"]]
    own = reverse("api-rule", args=[found["id"]])
    stranger = Client()
    stranger.force_login(account("otto", "Analysts"))
    assert stranger.get(own).status_code == stranger.delete(own).status_code == 404
    assert client_of_ana.delete(own).status_code == 204
    assert not Rule.objects.exists()


@pytest.mark.parametrize(
    ("members", "field"),
    [
        ({"when": "above", "value": 1.5}, "value"),
        ({"when": "above"}, "value"),
        ({"when": "changed", "value": 0.5}, "value"),
        ({"when": "sometimes", "value": 0.5}, "when"),
        ({"when": "above", "value": 0.5, "over_rounds": 0}, "over_rounds"),
        ({"when": "above", "value": 0.5, "over_rounds": 401}, "over_rounds"),
        ({"when": "above", "value": 0.5, "segment": "3.0"}, "segment"),
        ({"when": "above", "value": 0.5, "series": "0" * 16}, "series"),
        ({"when": "above", "value": 0.5, "recipe": "0" * 64}, "series"),
    ],
)
def test_rule_that_cannot_be_names_the_field(client_of_ana: Client, members: Any, field: str) -> None:
    series = series_publish(members=recipe_members(every="week", rounds=3), actor=None)
    refused = post(client_of_ana, **{"series": series.identifier, **members})
    assert refused.status_code == 400
    assert refused.json()["field"] == field
    assert not Rule.objects.exists()


def test_rule_fires_once_and_notifies_its_account_alone(ana: User) -> None:
    hooks = [webhook_create(user=one, url=HOOK, events=["rule_fired"])[0] for one in (ana, account("otto"))]
    recipe = open_recipe([1] * 30, cohort_size=10, epsilon=4.0)
    above = watched(ana, recipe, when="above", value=0.2)
    watched(ana, recipe, when="above", value=0.999)
    finish(recipe)
    for _ in range(2):
        read_all()
        rules_check()
    assert [(check.rule, check.segments) for check in Check.objects.filter(state=Check.State.FIRED)] == [
        (above, [""])
    ]
    (event,) = Event.objects.filter(kind="rule_fired")
    assert (event.subject, event.rule) == (str(recipe.identifier), above)
    assert [hook.deliveries.filter(event=event).count() for hook in hooks] == [1, 0]


def test_rule_below_the_cohort_fires_if_too_few_reported(ana: User) -> None:
    few, stopped = open_recipe([1] * 3, cohort_size=10), open_recipe([1] * 30, cohort_size=10)
    rules = [watched(ana, one, when="below") for one in (few, stopped)]
    finish(few)
    result_withhold(recipe=recipe_close(recipe=stopped, actor=None), reason="it takes too long", actor=None)
    read_all()
    rules_check()
    states = {check.rule: check.state for check in Check.objects.all()}
    assert states == {rules[0]: Check.State.FIRED, rules[1]: Check.State.QUIET}


@pytest.mark.django_db(transaction=True)
def test_rule_fires_once_though_the_process_dies_at_any_statement(ana: User) -> None:
    recipe = open_recipe([1] * 30, cohort_size=10, epsilon=4.0)
    watched(ana, recipe, when="above", value=0.2)
    finish(recipe)
    for number in range(200):
        try:
            with killed_at_statement(number):
                read_all()
                rules_check()
        except Killed:
            continue
        break
    assert number > 5
    assert Event.objects.filter(kind="rule_fired").count() == 1
    assert Check.objects.get().state == Check.State.FIRED


def test_rule_at_a_simulated_series_fires_on_pages_only(client_of_ana: Client, ana: User) -> None:
    hook = webhook_create(user=ana, url=HOOK, events=["rule_fired"])[0]
    draft = SeriesDraft.from_mapping(recipe_members(every="week", rounds=2))
    series = series_publish_simulated(draft=draft)

    def ask(number: int) -> Recipe:
        recipe = open_recipe([1] * 30, cohort_size=10, epsilon=4.0, simulation=True)
        round_simulated(recipe, series=series, number=number)
        return recipe

    finish(ask(1))
    rule = rule_create(
        user=ana, subject=subject_of(series=series.identifier), when="above", value=0.2, over_rounds=2
    )
    page = reverse("series", args=[series.identifier])
    assert "pages show it, and no message is sent" in page_text(client_of_ana.get(page))
    recipe = finish(ask(2))
    read_all()
    rules_check()
    assert Check.objects.get(state=Check.State.FIRED).recipe == recipe
    assert not Event.objects.filter(kind="rule_fired").exists()
    assert not hook.deliveries.exists()
    for path, words in (
        ("/", "Your rule fired in round 2 (simulation): a share"),
        (reverse("recipe", args=[recipe.identifier]), "Your rule fired here (simulation)"),
        (page, "(simulation; "),
    ):
        assert words in page_text(client_of_ana.get(path))
    firing = client_of_ana.get(reverse("api-rule", args=[rule.identifier])).json()["firings"][0]
    assert (firing["round"], firing["simulation"]) == (2, True)
    assert b"<entry>" not in Client().get(reverse("rule-feed", args=[rule.identifier])).content
    with pytest.raises(FieldError, match="has all of its results"):
        subject_of(series=series.identifier)


def test_rule_on_one_simulation_is_refused(client_of_ana: Client) -> None:
    for recipe, said in (
        (published_recipe(simulation=True), "this is a simulation"),
        (start(public=False, cohort_size=20).recipe, "must be the identifier of a recipe here"),
    ):
        refused = post(client_of_ana, recipe=str(recipe.identifier), when="below")
        assert (refused.status_code, refused.json()["field"]) == (400, "recipe")
        assert said in refused.json()["detail"]


def test_series_page_offers_a_rule_and_lists_ones_own(client_of_ana: Client, ana: User) -> None:
    series = series_publish(members=recipe_members(every="week", rounds=3), actor=None)
    path = reverse("series", args=[series.identifier])
    assert "Alert me" not in Client().get(path).content.decode()
    assert "Alert me" in client_of_ana.get(path).content.decode()
    form = {"rule-when": "above", "rule-value": "3", "rule-over_rounds": "20"}
    made = client_of_ana.post(f"{reverse('rule-new')}?series={series.identifier}", form)
    assert made.status_code == 302
    assert Rule.objects.get().value == pytest.approx(0.03)
    assert "above 3% by more than noise" in client_of_ana.get(path).content.decode()
    assert "above 3% by more than noise" not in Client().get(path).content.decode()


def test_rule_form_suggests_the_series_rounds_and_needs_a_value(client_of_ana: Client) -> None:
    series = series_publish(members=recipe_members(every="week", rounds=3), actor=None)
    page = client_of_ana.get(reverse("series", args=[series.identifier]))
    assert page.context["rule_form"]["over_rounds"].value() == 3
    assert "for “above” and “below”" in page_text(page)
    address = f"{reverse('rule-new')}?series={series.identifier}"
    refused = client_of_ana.post(address, {"rule-when": "below", "rule-over_rounds": "3"})
    assert refused.status_code == 422
    assert "Fill it in" in refused.context["rule_form"].errors["value"][0]
    form = {"rule-when": "changed", "rule-over_rounds": "3"}
    assert client_of_ana.post(address, form).status_code == 302


def test_firings_since_the_last_visit_are_on_ones_home_page(client_of_ana: Client, ana: User) -> None:
    recipe = open_recipe([1] * 30, cohort_size=10, epsilon=4.0, name="Crashes <b>")
    watched(ana, recipe, when="above", value=0.2)
    watched(ana, recipe, when="above", value=0.999)
    finish(recipe)
    read_all()
    rules_check()
    page = page_text(client_of_ana.get("/"))
    news = page[page.index("Since your last visit") : page.index("1 result since")]
    assert news.count("Your rule fired") == 1
    assert f'href="{reverse("recipe", args=[recipe.identifier])}"><bdi>Crashes &lt;b&gt;</bdi>' in news
    assert "Your rule fired: a share of the devices is above 20% by more than noise." in news
    assert list(firings_since(ana, timezone.now())) == []
    stranger = Client()
    stranger.force_login(account("otto", "Analysts"))
    assert "Your rule fired" not in page_text(stranger.get("/"))


def test_firing_at_a_private_simulation_is_for_those_who_see_it(ana: User) -> None:
    recipe = start(public=False, cohort_size=20).recipe
    otto, since = account("otto"), timezone.now() - timedelta(days=1)
    for user in (ana, otto):
        rule = Rule.objects.create(
            identifier=f"{user.pk:032}",
            user=user,
            recipe=recipe,
            when="below",
            watched=[""],
            over_rounds=1,
            created_at=timezone.now(),
        )
        Check.objects.create(
            rule=rule, recipe=recipe, at=timezone.now(), state="fired", decided_at=timezone.now()
        )
    assert [check.rule.user for check in firings_since(ana, since)] == [ana]
    assert list(firings_since(otto, since)) == []

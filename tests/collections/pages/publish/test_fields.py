"""Fields of the form that are about who reports, and on which way: target, tokens, relay, hidden number."""

import re
from datetime import timedelta
from html import unescape
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from pages.publish.forms import recipe_form_class
from panprivacy.formats import base64_text
from panprivacy.statistics.events.count_nonzero import CountNonzero
from publishing.publication import recipe_close
from recipes.models import Recipe
from results.exports import release_document
from tests.collections.pages.scene import draft_page, every_tab, new_url, recipe_page, suggested
from tests.collections.tokens.admission.scene import ISSUER_URL, RELAY_URL, FakeIssuer, token_recipe
from tests.factories import draft_recipe, published_recipe, published_stream
from tests.page_text import page_text
from tests.scenes import finish, open_recipe
from tests.target_scene import DECLARED, counted, declare, file_of, publish
from tests.tokens import ISSUER_KEY
from tokens.admission.operations import issuances_drive, issuances_take

pytestmark = pytest.mark.django_db

HIDDEN = {"population_size": 10_000, "sampling_rate": 0.1}
TARGETED = {
    "admission": "token",
    "relay": "True",
    "sampling_rate": "0.5",
    "cohort_size": "20",
    "smallest_target": "5000",
}


@pytest.fixture
def issuer_and_relay(settings: Any) -> None:
    settings.ISSUER_URL, settings.ISSUER_KEY = ISSUER_URL, ISSUER_KEY.public_key().public_bytes_raw()
    settings.RELAY_URL = RELAY_URL


@pytest.fixture
def systems(settings: Any, issuer_and_relay: None) -> Recipe:
    """A result by which devices of each system were counted."""
    settings.SMALLEST_COHORT, settings.LARGEST_LOCAL_EPSILON = 2, 100
    declare("everyone", DECLARED)
    return counted()


def chosen(recipe: Recipe, value: str) -> str:
    return f"os={value}@{recipe.identifier}"


def posted(client: Client, page: str = "recipe-new", **changes: Any) -> Any:
    """The answer to what the form proposes, with these changes."""
    given = {**suggested(client), "action": "save", **changes}
    return client.post(new_url(page=page), given, follow=True)


def drafts() -> list[dict[str, Any]]:
    return [recipe.draft for recipe in Recipe.objects.filter(status=Recipe.Status.DRAFT)]


# Target


def test_form_offers_what_was_counted_and_stores_what_is_chosen(signed_in: Client, systems: Recipe) -> None:
    page = signed_in.get(new_url()).content.decode()
    assert f'<option value="{chosen(systems, "linux")}">os = linux: surely 14' in page
    shown = page_text(posted(signed_in, **TARGETED, target=[chosen(systems, "linux")]))
    draft = Recipe.objects.get(status=Recipe.Status.DRAFT)
    assert draft.draft["target"] == {"os": {"value": "linux", "recipe": systems.identifier}}
    assert "os = linux" in shown
    assert "It cannot be published" not in shown
    # Edited without a change, it stays.
    edit = signed_in.get(reverse("recipe-draft-edit", args=[draft.pk]))
    assert edit.context["form"]["target"].value() == [chosen(systems, "linux")]
    assert f'<option value="{chosen(systems, "linux")}" selected>' in edit.content.decode()
    assert edit.context["changes"] == []
    counted()
    page = signed_in.get(reverse("recipe-draft-edit", args=[draft.pk])).content.decode()
    assert f'<option value="{chosen(systems, "linux")}" selected>os = linux (not by the newest' in page


def test_pages_say_how_many_devices_are_surely_in_the_target(signed_in: Client, systems: Recipe) -> None:
    for value, said in (
        ("linux", "devices are in the target, by the cited results; it must have 5,000."),
        ("other", "Only devices with: Must have at least 5,000 devices"),
    ):
        answer = posted(signed_in, "recipe-promise", **TARGETED, target=[chosen(systems, value)])
        assert said in page_text(answer)
    review = draft_page(signed_in, draft_recipe(**file_of(("os", "other", systems))))
    assert "Only devices with: must have at least 5,000 devices" in review
    recipe = publish(file_of(("os", "linux", systems)))
    shown = recipe_page(signed_in, recipe, "recipe-privacy")
    for said in (
        "It asks only devices with os = linux. At least 5,000 devices have this",
        f'/recipes/{systems.identifier}/">Systems</a>',
    ):
        assert said in shown
    join = recipe_page(signed_in, recipe, "recipe-take-part")
    assert '--attributes "os=linux" \\ --log-policy policy --log-state log.state' in join


def test_impossible_target_is_refused_at_its_field(signed_in: Client, systems: Recipe) -> None:
    linux, mac = chosen(systems, "linux"), chosen(systems, "mac")
    for changes, field in (
        ({"admission": "open"}, "admission"),
        ({"relay": ""}, "relay"),
        ({"sampling_rate": "1"}, "sampling_rate"),
        ({"smallest_target": "39"}, "smallest_target"),
        ({"smallest_target": "10000000"}, "target"),
        ({"target": ["os=beos@" + "0" * 64]}, "target"),
        ({"target": ["os=linux@" + "0" * 64]}, "target"),
        ({"target": ["nonsense"]}, "target"),
        ({"target": [linux, mac]}, "target"),
    ):
        answer = posted(signed_in, **{**TARGETED, "target": [linux], **changes})
        assert (answer.status_code, field in answer.context["form"].errors) == (422, True), changes
    assert answer.context["form"].errors["target"] == ["Choose one value of os: a device has one."]
    assert drafts() == []


# Tokens and relay


@pytest.mark.usefixtures("issuer_and_relay")
def test_form_stores_tokens_and_relay_and_the_review_shows_them(signed_in: Client) -> None:
    posted(signed_in)
    (untouched,) = drafts()
    assert not {"admission", "relay"} & untouched.keys()
    Recipe.objects.all().delete()
    shown = page_text(posted(signed_in, admission="token", relay="True"))
    draft = Recipe.objects.get(status=Recipe.Status.DRAFT)
    assert (draft.draft["admission"], draft.draft["relay"]) == ("token", True)
    assert "Known devices, once each" in shown
    assert "Through a relay only" in shown
    edit = signed_in.get(reverse("recipe-draft-edit", args=[draft.pk])).content.decode()
    assert re.search(r'<option value="token" selected', edit)
    assert re.search(r'<option value="True" selected', edit)


@pytest.mark.usefixtures("issuer_and_relay")
def test_form_stores_a_kem_and_the_review_shows_the_default(signed_in: Client, settings: Any) -> None:
    by_default = page_text(posted(signed_in, relay="True"))
    assert "hpke" not in drafts()[0]
    assert "Sealed with</th><td>x-wing" in by_default
    settings.DEVICE_ORIGINS = ["https://library.example"]
    assert "Sealed with</th><td>x25519" in draft_page(signed_in, Recipe.objects.get())
    Recipe.objects.all().delete()
    assert "Sealed with</th><td>x-wing" in page_text(posted(signed_in, relay="True", hpke="x-wing"))
    assert drafts()[0]["hpke"] == "x-wing"
    refused = posted(signed_in, hpke="x-wing")
    assert (refused.status_code, list(refused.context["form"].errors)) == (422, ["hpke"])


def test_form_names_the_setting_of_what_is_not_available(signed_in: Client, settings: Any) -> None:
    shown = page_text(signed_in.get(new_url()))
    assert shown.count("Not available here: no issuer is set up.") == 1
    assert shown.count("Not available here: no relay is set up.") == 1
    for changes, setting in (
        ({"admission": "token"}, "PANAPP_ISSUER_URL"),
        ({"relay": "True"}, "PANAPP_RELAY_URL"),
    ):
        assert setting in page_text(posted(signed_in, **changes))
    assert drafts() == []
    settings.RELAY_URL = RELAY_URL
    assert "no relay is set up" not in page_text(signed_in.get(new_url()))
    assert "no issuer is set up" in draft_page(signed_in, draft_recipe(admission="token"))


def test_preview_of_what_needs_tokens_shows_the_refusal_first(signed_in: Client) -> None:
    changes = {"participation": "relayed", "cohort_size": "600"}
    answer = signed_in.post(
        new_url("rare_categories", page="recipe-preview"), suggested(signed_in, "rare_categories") | changes
    )
    text = page_text(answer)
    ((label, message),) = answer.context["unadmitted"]
    assert label == "Who may report"
    assert text.index(f"{label}:") < text.index(message) < text.index("95 of 100 repeats")


def test_page_of_a_recipe_with_tokens_names_issuer_attester_and_relay(client: Client) -> None:
    recipe = token_recipe(FakeIssuer(), relay=True)
    shown = recipe_page(client, recipe, "recipe-privacy")
    for text in (
        *("issuer.example", "https://attester.example/attester", RELAY_URL, "known after it has closed"),
        "an attacker cannot fill the cohort with made-up reports, unless the attester and",
    ):
        assert text in shown
    shown = recipe_page(client, recipe, "recipe-take-part")
    for text in (
        "panprivacy.device identity --identity",
        "panprivacy.device enrol https://attester.example/attester",
        "panprivacy.device token --state",
    ):
        assert text in shown
    assert f'ISSUER_KEY="{base64_text.encode(ISSUER_KEY.public_key().public_bytes_raw())}"' in unescape(shown)


@pytest.mark.parametrize(("silent", "said"), [("", "1,234"), ("POST", "The issuer has not answered since")])
def test_page_says_how_many_tokens_were_issued_if_known(client: Client, silent: str, said: str) -> None:
    issuer = FakeIssuer(issued=1_234)
    recipe = recipe_close(recipe=token_recipe(issuer), actor=None)
    issuer.silent = silent
    now = timezone.now() + timedelta(minutes=1)
    issuances_drive(taken=issuances_take(now=now), now=now, transport=issuer)
    assert said in recipe_page(client, recipe, "recipe" if silent else "recipe-privacy")
    # What went wrong is for those who watch over it.
    assert ISSUER_URL not in every_tab(client, recipe) or not silent


def test_page_of_an_open_recipe_says_what_nothing_limits(client: Client) -> None:
    recipe = published_recipe()
    shown = recipe_page(client, recipe, "recipe-privacy")
    assert "Any sender, any number of reports" in shown
    assert "can fill the cohort" in shown
    assert "Tokens issued" not in every_tab(client, recipe)
    assert "Who may report" not in every_tab(client, published_stream())


# Hidden number of reports


def test_hidden_count_is_read_as_it_is_shown() -> None:
    field = recipe_form_class(CountNonzero).base_fields["hidden_count"]
    for typed, members in (
        ("1", {"epsilon": 1.0, "delta": 1e-6}),
        ("0.5, 1e-08", {"epsilon": 0.5, "delta": 1e-8}),
        ("", None),
    ):
        assert field.clean(typed) == members
        assert field.clean(field.prepare_value(members)) == members


def test_impossible_hidden_count_is_refused_at_its_field(signed_in: Client) -> None:
    draft = draft_recipe(**HIDDEN, hidden_count={"epsilon": 1, "delta": 1e-6})
    address = reverse("recipe-draft-edit", args=[draft.pk])
    form = signed_in.get(address).context["form"]
    assert form["hidden_count"].value() == "1.0"
    sent = {bound.name: bound.value() for bound in form if bound.value() is not None}
    for typed in ("many", "1 2 3", "0", "nan"):
        answer = signed_in.post(address, {**sent, "hidden_count": typed})
        assert answer.status_code == 422
        assert "hidden_count" in str(answer.context["form"].errors.as_data())


def test_page_lists_the_guarantee_of_the_number_of_reports(client: Client) -> None:
    recipe = published_recipe(**HIDDEN, hidden_count={"epsilon": 1, "delta": 1e-6})
    page = recipe_page(client, recipe, "recipe-privacy")
    assert "Someone who sees only the number of reports" in page
    assert "to at most 73% sure whether one device takes part" in page
    assert "one report (a device takes part, against it does not)" in page


def test_result_divides_by_the_rate_at_which_devices_report() -> None:
    hidden = {"hidden_count": {"epsilon": 0.1, "delta": 1e-6}, "simulation": True}
    recipe = finish(open_recipe([1] * 6, **HIDDEN, **hidden))
    rate = recipe.published.calibrated_statistic.reporting_rate
    assert rate > 0.2
    assert release_document(recipe.release, None)["share_of"] == pytest.approx(6 / rate)

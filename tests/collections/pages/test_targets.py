"""A recipe for a part of its population on pages: form, preview, review, the recipe's own page."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from pages.publish.forms import recipe_form_class
from panprivacy.catalogue import statistic_class
from panprivacy.mechanisms.count_nonzero import CountNonzero
from recipes.models import Recipe
from tests.collections.admission.scene import ISSUER_URL, RELAY_URL
from tests.factories import draft_recipe
from tests.page_text import page_text
from tests.scenes import analyst
from tests.target_scene import DECLARED, counted, declare, file_of, publish
from tests.tokens import ISSUER_KEY

pytestmark = pytest.mark.django_db

PROTECTED = {
    "admission": "token",
    "relay": "True",
    "sampling_rate": "0.5",
    "cohort_size": "20",
    "smallest_target": "5000",
}


@pytest.fixture
def systems(settings: Any) -> Recipe:
    settings.SMALLEST_COHORT, settings.LARGEST_LOCAL_EPSILON = 2, 100
    settings.ISSUER_URL, settings.ISSUER_KEY = ISSUER_URL, ISSUER_KEY.public_key().public_bytes_raw()
    settings.RELAY_URL = RELAY_URL
    declare("everyone", DECLARED)
    return counted()


@pytest.fixture
def signed_in(client: Client) -> Client:
    client.force_login(analyst())
    return client


def chosen(recipe: Recipe, value: str) -> str:
    return f"os={value}@{recipe.identifier}"


def posted(client: Client, address: str, **changes: Any) -> Any:
    form = client.get(f"{reverse('recipe-new')}?statistic=count_nonzero").context["form"]
    given = {name: form[name].value() for name in form.fields if form[name].value() is not None}
    texts = {"name": "Crashes", "question": "How many?", "action": "save"}
    return client.post(
        f"{address}?statistic=count_nonzero", {**given, **texts, **PROTECTED, **changes}, follow=True
    )


def test_form_offers_what_was_counted_and_stores_what_is_chosen(signed_in: Client, systems: Recipe) -> None:
    page = signed_in.get(f"{reverse('recipe-new')}?statistic=count_nonzero").content.decode()
    assert f'<option value="{chosen(systems, "linux")}">os = linux: surely 14' in page
    shown = page_text(posted(signed_in, reverse("recipe-new"), target=[chosen(systems, "linux")]))
    draft = Recipe.objects.get(status=Recipe.Status.DRAFT)
    assert draft.draft["target"] == {"os": {"value": "linux", "recipe": systems.identifier}}
    assert "os = linux" in shown
    assert "It cannot be published" not in shown
    # Edited without a change, it stays.
    edit = signed_in.get(reverse("recipe-draft-edit", args=[draft.pk]))
    assert edit.context["form"]["target"].value() == [chosen(systems, "linux")]
    assert f'<option value="{chosen(systems, "linux")}" selected>' in edit.content.decode()
    assert edit.context["changes"] == []


def test_preview_says_how_many_are_surely_in_it_or_why_it_is_refused(
    signed_in: Client, systems: Recipe
) -> None:
    promise = reverse("recipe-promise")
    shown = page_text(posted(signed_in, promise, target=[chosen(systems, "linux")]))
    assert "devices are in the target, by the cited results; it must have 5,000." in shown
    shown = page_text(posted(signed_in, promise, target=[chosen(systems, "other")]))
    assert "Only devices with: Must have at least 5,000 devices" in shown


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"admission": "open"}, "admission"),
        ({"relay": ""}, "relay"),
        ({"sampling_rate": "1"}, "sampling_rate"),
        ({"smallest_target": "39"}, "smallest_target"),
        ({"smallest_target": "10000000"}, "target"),
        ({"target": ["os=beos@" + "0" * 64]}, "target"),
        ({"target": ["os=linux@" + "0" * 64]}, "target"),
        ({"target": ["nonsense"]}, "target"),
    ],
)
def test_form_says_at_the_field_what_is_wrong(
    signed_in: Client, systems: Recipe, changes: dict[str, Any], field: str
) -> None:
    answer = posted(signed_in, reverse("recipe-new"), **{"target": [chosen(systems, "linux")], **changes})
    assert answer.status_code == 422
    assert field in answer.context["form"].errors
    assert not Recipe.objects.filter(status=Recipe.Status.DRAFT).exists()


def test_two_values_of_one_attribute_cannot_be_chosen(signed_in: Client, systems: Recipe) -> None:
    both = [chosen(systems, "linux"), chosen(systems, "mac")]
    answer = posted(signed_in, reverse("recipe-new"), target=both)
    assert answer.context["form"].errors["target"] == ["Choose one value of os: a device has one."]


def test_condition_that_an_older_result_shows_stays_in_the_form(signed_in: Client, systems: Recipe) -> None:
    draft = draft_recipe(**file_of(("os", "linux", systems)))
    counted()
    page = signed_in.get(reverse("recipe-draft-edit", args=[draft.pk])).content.decode()
    assert f'<option value="{chosen(systems, "linux")}" selected>os = linux (not by the newest' in page


def test_review_says_why_a_target_cannot_be_published(signed_in: Client, systems: Recipe) -> None:
    draft = draft_recipe(**file_of(("os", "other", systems)))
    shown = page_text(signed_in.get(reverse("recipe-draft", args=[draft.pk])))
    assert "Only devices with: must have at least 5,000 devices" in shown


def test_page_of_a_recipe_names_its_target_and_leads_to_what_it_rests_on(
    client: Client, systems: Recipe
) -> None:
    recipe = publish(file_of(("os", "linux", systems)))
    answer = client.get(f"/recipes/{recipe.identifier}/")
    shown = page_text(answer)
    assert "It asks only devices with os = linux. At least 5,000 devices have this" in shown
    assert f'/recipes/{systems.identifier}/">Systems</a>' in answer.content.decode()
    assert '--attributes "os=linux" \\ --log-policy policy --log-state log.state' in shown


def test_statistic_that_samples_nobody_has_no_such_field() -> None:
    assert "target" in recipe_form_class(CountNonzero).base_fields
    assert "target" not in recipe_form_class(statistic_class("shuffle_histogram")).base_fields

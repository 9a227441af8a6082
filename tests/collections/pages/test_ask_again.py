"""A recipe is asked again in a form filled in from it, and what is changed is marked before publishing."""

import pytest
from django.test import Client
from django.urls import reverse

from recipes.models import AskedAgain, Recipe
from recipes.selectors import recipe_asked_again
from tests.factories import draft_recipe, published_recipe
from tests.page_text import page_text
from tests.scenes import account, analyst, open_stream

from .test_recipe_pages import form_data

pytestmark = pytest.mark.django_db


@pytest.fixture
def signed_in(client: Client) -> Client:
    client.force_login(analyst())
    return client


def again_url(recipe: Recipe) -> str:
    return f"{reverse('recipe-new')}?statistic={recipe.statistic}&from={recipe.identifier}"


def test_recipe_page_leads_analysts_to_a_form_filled_in_from_it(signed_in: Client) -> None:
    recipe = published_recipe(epsilon=1.75, closes_at="2030-01-01T00:00:00Z")
    assert again_url(recipe).replace("&", "&amp;") in page_text(
        signed_in.get(reverse("recipe", args=[recipe.identifier]))
    )
    page = page_text(signed_in.get(again_url(recipe)))
    for value in ("Crash counter", "On how many devices did it crash?", "1.75"):
        assert f'value="{value}"' in page
    # Its times are over when it is asked again.
    assert "2030-01-01" not in page.split('name="closes_at"')[1].split(">")[0]


def test_visitors_are_not_offered_what_they_may_not_do(client: Client) -> None:
    page = page_text(client.get(reverse("recipe", args=[published_recipe().identifier])))
    assert "Ask again" not in page


def test_stream_is_asked_again_too(signed_in: Client) -> None:
    page = page_text(signed_in.get(again_url(open_stream())))
    assert 'value="Visitors"' in page


def test_edited_fields_are_marked_in_the_form_and_listed_before_publishing(signed_in: Client) -> None:
    recipe = published_recipe(epsilon=2.0)
    # A browser sends every choice, also those that the recipe's file leaves out.
    untouched = {"admission": "open", "relay": "", "trust": "single_server"}
    data = form_data(name="Crash counter", steps="4", epsilon="1.25", cohort_size="5", **untouched)
    form = page_text(signed_in.post(again_url(recipe), {**data, "action": "preview"}))
    assert 'id="mark_epsilon">Changed; it was 2.<' in form
    assert 'id="mark_steps"><' in form
    assert form.count("Changed; it was") == 1
    review = page_text(signed_in.post(again_url(recipe), {**data, "action": "save"}, follow=True))
    assert "Changed from" in review
    assert "<del>2</del>" in review
    assert "<ins>1.25</ins>" in review
    assert review.count("<ins>") == 1
    draft = Recipe.objects.get(status="draft")
    assert recipe_asked_again(draft) == recipe
    # Still so when the draft is edited.
    edited = page_text(signed_in.get(reverse("recipe-draft-edit", args=[draft.pk])))
    assert "Changed; it was 2." in edited


def test_preview_tells_which_fields_are_edited(signed_in: Client) -> None:
    recipe = published_recipe(epsilon=2.0)
    url = f"{reverse('recipe-preview')}?statistic=count_nonzero&from={recipe.identifier}"
    page = page_text(signed_in.post(url, form_data(epsilon="1.25")))
    assert 'id="mark_epsilon" hx-swap-oob="true">Changed; it was 2.' in page


def test_recipe_asked_again_unchanged_says_so(signed_in: Client) -> None:
    recipe = published_recipe()
    data = form_data(name="Crash counter", steps="4", epsilon="2", cohort_size="5", action="save")
    review = page_text(signed_in.post(again_url(recipe), data, follow=True))
    assert "it asks the same again" in review


@pytest.mark.searches
@pytest.mark.parametrize("identifier", ["0" * 64, "abc", "%00", "0" * 63 + "%00", "9" * 4000])
def test_recipe_that_is_not_there_cannot_be_asked_again(signed_in: Client, identifier: str) -> None:
    for url in (f"{reverse('recipe-new')}?from={identifier}", f"{reverse('recipe-new')}?draft={identifier}"):
        answer = signed_in.get(f"{url}&statistic=count_nonzero")
        assert answer.status_code in (200, 400, 404)
        assert signed_in.post(f"{url}&statistic=count_nonzero", form_data()).status_code < 500
    assert not AskedAgain.objects.exists()


def test_draft_cannot_be_asked_again_nor_read_by_others_through_the_form(client: Client) -> None:
    draft = draft_recipe(name="Secret plan")
    client.force_login(account("passerby"))
    answer = client.get(f"{reverse('recipe-new')}?statistic=count_nonzero&draft={draft.pk}")
    assert answer.status_code == 403


def test_deleting_a_draft_keeps_the_recipe_that_it_asks_again(signed_in: Client) -> None:
    recipe = published_recipe()
    data = form_data(action="save")
    signed_in.post(again_url(recipe), data)
    draft = Recipe.objects.get(status="draft")
    signed_in.post(reverse("recipe-draft-delete", args=[draft.pk]))
    assert list(Recipe.objects.all()) == [recipe]

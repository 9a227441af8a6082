"""Pages of four eyes: who waits for whom is said, and what needs another analyst is not offered before."""

import re

import pytest
from django.test import Client
from django.urls import reverse

from recipes.models import Approval, Recipe
from recipes.operations import recipe_draft_save
from series.models import Series
from tests.collections.pages.scene import every_tab, recipe_page
from tests.factories import published_recipe, recipe_members
from tests.page_text import page_text
from tests.scenes import account

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _site(settings):
    settings.FOUR_EYES = True


def signed_in(name: str) -> Client:
    client = Client()
    client.force_login(account(name, "Analysts"))
    return client


def decide(client: Client, page: str, approval: Approval, decision: str, note: str = ""):
    return client.post(page, {"decision": decision, "reviewed": approval.content, "note": note})


def test_a_draft_goes_from_its_author_to_another_analyst_and_back():
    author, other = signed_in("ana"), signed_in("otto")
    draft = recipe_draft_save(members=recipe_members(), actor=author.get("/").wsgi_request.user)
    page, approval_page = (reverse(name, args=[draft.pk]) for name in ("recipe-draft", "recipe-approval"))
    told = page_text(author.get(page))
    assert "It needs the approval of another analyst." in told
    assert "Ask for approval" in told
    assert "<button disabled>Publish for good" in author.get(page).content.decode()
    reviewed = {"reviewed": draft.draft_hash}
    refused = author.post(reverse("recipe-publish", args=[draft.pk]), reviewed)
    assert refused.status_code == 422
    assert page_text(refused).count("needs the approval of another analyst") == 1
    author.post(approval_page, {"decision": "ask", **reviewed})
    approval = Approval.objects.get()
    assert "Waits for your approval. ana asked." in page_text(other.get("/"))
    assert "Waits for your approval" not in page_text(author.get("/"))
    assert 'value="approve"' not in author.get(page).content.decode()
    assert "must say why" in page_text(decide(other, approval_page, approval, "decline"))
    decide(other, approval_page, approval, "decline", "too few devices")
    assert "too few devices" in page_text(author.get(page))
    assert "Declined." in page_text(author.get("/"))
    author.post(approval_page, {"decision": "ask", **reviewed})
    decide(other, approval_page, Approval.objects.latest("pk"), "approve")
    assert "Approved: you can publish it." in page_text(author.get("/"))
    author.post(reverse("recipe-publish", args=[draft.pk]), reviewed)
    recipe = Recipe.objects.get(status=Recipe.Status.PUBLISHED)
    verify = recipe_page(Client(), recipe, "recipe-verify")
    assert "Recipe published, approved by another account" in verify
    shown = every_tab(Client(), recipe)
    assert not re.search(r"\botto\b", shown), "as a word: keys in base64 may have the letters"


def test_a_series_is_proposed_approved_and_then_published():
    recipe = published_recipe(epsilon=8.0, cohort_size=20)
    author, other = signed_in("ana"), signed_in("otto")
    form = reverse("series-new", args=[recipe.identifier])
    assert "Ask for the approval of the series" in page_text(author.get(form))
    proposal = author.post(form, {"every": "week", "rounds": 3}).headers["Location"]
    approval = Approval.objects.get()
    assert "Every week" in page_text(other.get(proposal))
    assert decide(author, proposal, approval, "publish").status_code == 422
    decide(other, proposal, approval, "approve")
    assert decide(other, proposal, approval, "publish").status_code == 422
    assert not Series.objects.exists()
    published = decide(author, proposal, approval, "publish")
    assert published.headers["Location"] == reverse("series", args=[Series.objects.get().identifier])
    assert "This series is published." in page_text(other.get(proposal))
    assert Client().get(proposal).status_code == 302

"""Who may report, and on which way: the form, the review, the recipe's page."""

import re
from datetime import timedelta
from html import unescape
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from admission.operations import issuances_drive, issuances_take
from panprivacy import base64_text
from recipes.models import Recipe
from tests.collections.admission.scene import ISSUER_URL, RELAY_URL, FakeIssuer, token_recipe
from tests.factories import draft_recipe, published_recipe, published_stream
from tests.page_text import page_text
from tests.scenes import analyst
from tests.tokens import ISSUER_KEY
from trust_models.publishing import recipe_close

pytestmark = pytest.mark.django_db


@pytest.fixture
def signed_in(client: Client) -> Client:
    client.force_login(analyst())
    return client


@pytest.fixture
def _with_issuer_and_relay(settings: Any) -> None:
    settings.ISSUER_URL, settings.ISSUER_KEY = ISSUER_URL, ISSUER_KEY.public_key().public_bytes_raw()
    settings.RELAY_URL = RELAY_URL


def page(client: Client, recipe: Recipe) -> str:
    return page_text(client.get(f"/recipes/{recipe.identifier}/"))


def sent(client: Client, **changes: str) -> tuple[str, Recipe | None]:
    """What the form answers to its suggested values with these changes, and the draft that it stored."""
    address = f"{reverse('recipe-new')}?statistic=count_nonzero"
    form = client.get(address).context["form"]
    values = {name: form[name].value() for name in form.fields}
    given = {name: value for name, value in values.items() if value is not None}
    texts = {"name": "Crashes", "question": "How many?", "action": "save"}
    answer = client.post(address, {**given, **texts, **changes}, follow=True)
    return page_text(answer), Recipe.objects.filter(status=Recipe.Status.DRAFT).first()


@pytest.mark.usefixtures("_with_issuer_and_relay")
def test_form_stores_both_choices_and_the_review_shows_them(signed_in: Client) -> None:
    shown, draft = sent(signed_in, admission="token", relay="True")
    assert draft is not None
    assert (draft.draft["admission"], draft.draft["relay"]) == ("token", True)
    assert "Known devices, once each" in shown
    assert "Through a relay only" in shown
    edit = signed_in.get(reverse("recipe-draft-edit", args=[draft.pk])).content.decode()
    assert re.search(r'<option value="token" selected', edit)
    assert re.search(r'<option value="True" selected', edit)


def test_form_as_it_stands_stores_neither(signed_in: Client) -> None:
    _, draft = sent(signed_in)
    assert draft is not None
    assert not {"admission", "relay"} & draft.draft.keys()


@pytest.mark.parametrize(
    ("changes", "setting"),
    [({"admission": "token"}, "PANAPP_ISSUER_URL"), ({"relay": "True"}, "PANAPP_RELAY_URL")],
)
def test_form_says_which_setting_is_missing(signed_in: Client, changes: dict[str, str], setting: str) -> None:
    shown, draft = sent(signed_in, **changes)
    assert setting in shown
    assert draft is None


def test_form_says_what_is_not_available_before_it_is_chosen(signed_in: Client, settings: Any) -> None:
    address = f"{reverse('recipe-new')}?statistic=count_nonzero"
    shown = page_text(signed_in.get(address))
    assert shown.count("Not available here: no issuer is set up.") == 1
    assert shown.count("Not available here: no relay is set up.") == 1
    settings.RELAY_URL = RELAY_URL
    assert "no relay is set up" not in page_text(signed_in.get(address))


def test_draft_with_tokens_where_there_is_no_issuer_cannot_be_published(signed_in: Client) -> None:
    draft = draft_recipe(admission="token")
    assert "no issuer is set up" in page_text(signed_in.get(reverse("recipe-draft", args=[draft.pk])))


def test_page_of_a_recipe_with_tokens_names_issuer_attester_and_relay(client: Client) -> None:
    shown = page(client, token_recipe(FakeIssuer(), relay=True))
    for text in (
        "issuer.example",
        "https://attester.example/attester",
        RELAY_URL,
        "known after it has closed",
    ):
        assert text in shown
    assert f'ISSUER_KEY="{base64_text.encode(ISSUER_KEY.public_key().public_bytes_raw())}"' in unescape(shown)
    for step in ("identity --identity", "enrol https://attester.example/attester", "token --state"):
        assert f"devices_sim {step}" in shown
    assert "nobody can fill the cohort with made-up reports, unless the attester and the issuer" in shown


def test_page_says_how_many_tokens_were_issued_once_it_is_known(client: Client) -> None:
    issuer = FakeIssuer(issued=1_234)
    recipe = recipe_close(recipe=token_recipe(issuer), actor=None)
    now = timezone.now() + timedelta(minutes=1)
    issuances_drive(taken=issuances_take(now=now), now=now, transport=issuer)
    assert "1,234" in page(client, recipe)


def test_page_says_that_the_issuer_of_a_closed_recipe_does_not_answer(client: Client) -> None:
    issuer = FakeIssuer()
    recipe = recipe_close(recipe=token_recipe(issuer), actor=None)
    issuer.silent = "POST"
    now = timezone.now() + timedelta(minutes=1)
    issuances_drive(taken=issuances_take(now=now), now=now, transport=issuer)
    shown = page(client, recipe)
    assert "The issuer has not answered since" in shown
    assert ISSUER_URL not in shown  # what went wrong is for those who watch over it


def test_page_of_an_open_recipe_says_what_nothing_limits(client: Client) -> None:
    shown = page(client, published_recipe())
    assert "Anybody, any number of times" in shown
    assert "can fill the cohort" in shown
    assert "Tokens issued" not in shown


def test_page_of_a_stream_says_nothing_of_reports(client: Client) -> None:
    assert "Who may report" not in page(client, published_stream())


def test_preview_of_what_needs_tokens_shows_the_refusal_above_its_figures(signed_in: Client) -> None:
    form = signed_in.get(f"{reverse('recipe-new')}?statistic=rare_categories").context["form"]
    given = {name: form[name].value() for name in form.fields if form[name].value() is not None}
    changes = {"participation": "relayed", "name": "Errors", "question": "Which?"}
    answer = signed_in.post(f"{reverse('recipe-preview')}?statistic=rare_categories", given | changes)
    text = page_text(answer)
    assert "95 of 100 repeats" in text
    ((label, message),) = answer.context["unadmitted"]
    assert label == "Who may report"
    assert text.index(f"{label}:") < text.index(message) < text.index("95 of 100 repeats")

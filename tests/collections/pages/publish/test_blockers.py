"""What keeps a recipe from being published stands first, with what would fit and a button that takes it."""

import re
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from ledger.budget import Budget
from ledger.operations import population_create
from panprivacy.accounting.noisy_count import release_probability
from recipes.models import Recipe
from tests.collections.pages.scene import draft_page, form_data, new_url
from tests.collections.publishing import scene
from tests.factories import draft_recipe
from tests.page_text import page_text

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def clinics(db: None) -> None:
    """A population with a small budget."""
    population_create(name="clinics", description="", budget=Budget(epsilon=2.0, delta=1e-6), actor=None)


def taken(page: str) -> dict[str, str]:
    """What the buttons fill in: field → value."""
    return dict(re.findall(r'name="take" value="(\w+)=([^"&]*)"', page))


def test_form_beyond_the_budget_first_says_what_fits(signed_in: Client) -> None:
    page = page_text(signed_in.post(new_url(), form_data(**BEYOND, action="preview")))
    # The key Enter in a field presses the first button, which saves and takes nothing.
    first = re.search(r"<button[^>]*form=\"recipe-form\"[^>]*>", page[page.index("<main") :])
    assert first is not None
    assert 'value="save"' in first[0]
    blocked = page.index("It cannot be published like this")
    assert blocked < page.index("<fieldset>")
    assert "Population: the budget of clinics would be exceeded" in page
    fits = taken(page)
    assert set(fits) == {"epsilon", "cohort_size"}
    # The button shows the form anew, filled in and with nothing in the way; nothing is stored.
    anew = signed_in.post(new_url(), form_data(**BEYOND, take=f"epsilon={fits['epsilon']}"))
    shown = page_text(anew)
    assert anew.status_code == 200
    assert "It cannot be published" not in shown
    assert f'name="epsilon" value="{fits["epsilon"]}"' in shown
    assert 'name="name" value="Crashes"' in shown
    assert not Recipe.objects.exists()
    alone = page_text(signed_in.post(new_url(page="recipe-promise"), form_data(**BEYOND)))
    assert '<div id="blockers" hx-swap-oob="true">' in alone
    assert "epsilon" in taken(alone)


def test_review_beyond_the_budget_leads_to_what_fits(signed_in: Client) -> None:
    draft = draft_recipe(epsilon=1.7, population="clinics", cohort_size=20)
    page = draft_page(signed_in, draft)
    assert page.index("It cannot be published like this") < page.index("Privacy label")
    assert "<button disabled>Publish" in page
    edit = reverse("recipe-draft-edit", args=[draft.pk])
    address = re.search(rf'href="({edit}\?epsilon=[\d.]+)"', page)
    assert address is not None
    form = page_text(signed_in.get(address[1]))
    assert "It cannot be published" not in form
    assert "Changed; it was 1.7." in form


@pytest.mark.parametrize(
    ("changes", "said", "take"),
    [
        ({"cohort_size": "50"}, "Devices refuse cohorts below 100", {"cohort_size": "100"}),
        ({"epsilon": "9"}, "Devices refuse ε above 8", {"epsilon": "8"}),
        ({"population_size": "700"}, "about 700 devices would report", {"cohort_size": "700"}),
        ({}, "95 of 100 repeats", {}),
    ],
)
def test_what_devices_would_refuse_is_said_and_can_be_published(
    signed_in: Client, changes: dict[str, str], said: str, take: dict[str, str]
) -> None:
    page = page_text(signed_in.post(new_url(), form_data(**changes, action="preview")))
    assert said in page
    assert taken(page) == take
    assert ("Devices refuse" in page) is (said.startswith("Devices refuse"))
    assert "It cannot be published" not in page


@pytest.mark.parametrize(
    ("trust", "devices", "said"),
    [
        ("single_server", "1000", ""),
        ("two_server", "1000", "Nothing would be released: about 1,000 devices would report"),
        ("two_server", "1050", "A result comes in only 26% of cases: about 1,050 devices would report"),
        ("two_server", "1106", ""),
    ],
)
def test_form_warns_if_the_margin_makes_a_result_unlikely(
    signed_in: Client, settings: Any, trust: str, devices: str, said: str
) -> None:
    settings.LEADER_URL, settings.HELPER_URL = scene.LEADER_URL, scene.HELPER_URL
    settings.HELPER_KEY = scene.verification_key_of(scene.HELPER_SIGNING_KEY)
    asked = form_data(trust=trust, population_size=devices, cohort_size="1000", action="preview")
    page = page_text(signed_in.post(new_url(), asked))
    if not said:
        assert "cases:" not in page
        assert "Nothing would be released" not in page
        return
    assert said in page
    assert "with its margin a result takes up to 1,106 valid reports" in page
    size = int(taken(page)["cohort_size"])
    found = [release_probability(cohort, int(devices), 1.0) for cohort in (size, size + 1)]
    assert found[0] >= 0.95 > found[1]


def test_unlikely_result_has_no_margin_but_can_be_published(signed_in: Client) -> None:
    page = page_text(signed_in.post(new_url(), form_data(population_size="500", action="preview")))
    shown = page[page.index('id="preview-figures"') :]
    assert "The largest cohort with which a result is likely is 500." in shown
    assert "±" not in shown.split('id="promise"')[0]
    draft = draft_recipe(population_size=500, cohort_size=1_000)
    review = draft_page(signed_in, draft)
    warned = review.index("Nothing would be released: about 500 devices would report")
    assert warned < review.index("Publish for good")
    assert "Planned:" not in review
    assert f'href="{reverse("recipe-draft-edit", args=[draft.pk])}?cohort_size=500"' in review
    assert "<button disabled>Publish" not in review


def test_value_of_a_button_that_the_form_never_shows_does_no_harm(signed_in: Client) -> None:
    for take in ("", "=", "nothing=1", "epsilon=", "epsilon=%00", "a=1&" * 200, "epsilon=x"):
        assert signed_in.post(new_url(), form_data(take=take)).status_code in (200, 400), take
    assert not Recipe.objects.exists()


def test_rare_fields_are_folded_until_changed_or_wrong(signed_in: Client) -> None:
    plain = page_text(signed_in.get(new_url()))
    assert '<details class="folded">' in plain
    assert '<details class="folded" open>' not in plain
    for changes in ({"sampling_rate": "0.5"}, {"delta": "0"}):
        page = page_text(signed_in.post(new_url(), form_data(**changes, action="preview")))
        assert page.count('<details class="folded" open>') == 1


BEYOND = {
    "epsilon": "1.7",
    "population": "clinics",
    "cohort_size": "20",
    "steps": "4",
    "population_size": "10000",
}

"""What analysts do every week, in a browser: blockers, asking again, the log, missing pages, the account."""

from collections.abc import Callable

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from ledger.budget import Budget
from ledger.operations import population_create
from tests.factories import draft_recipe, published_recipe
from tests.scenes import PASSWORD, analyst, finish, open_recipe

from .accessibility import violations
from .conftest import Visitor

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

Visit = Callable[..., Visitor]
NEW = "/recipes/new/?statistic=count_nonzero"
PHONE = {"width": 400, "height": 800}


def signed_in(visit: Visit, **options: object) -> Visitor:
    analyst()
    visitor = visit(**options)
    visitor.sign_in("ana", PASSWORD)
    return visitor


@pytest.mark.parametrize("script", [True, False])
def test_button_takes_what_fits_also_without_javascript(visit: Visit, script: bool) -> None:
    population_create(name="clinics", description="", budget=Budget(epsilon=2.0, delta=1e-6), actor=None)
    draft = draft_recipe(population="clinics", cohort_size=100, epsilon=3.5)
    visitor = signed_in(visit, java_script_enabled=script)
    page = visitor.open(reverse("recipe-draft", args=[draft.pk]))
    expect(page.get_by_role("alert")).to_contain_text("It cannot be published as it stands")
    take = page.get_by_role("link", name="Take ε = ")
    value = take.inner_text().removeprefix("Take ε = ")
    take.click()
    expect(page.get_by_label("Privacy loss (ε)", exact=True)).to_have_value(value)
    expect(page.get_by_text("Changed; it was 3.5.")).to_be_visible()
    expect(page.get_by_role("alert")).to_have_count(0)
    # In the form itself the button is a submit: what else was entered stays.
    page.get_by_label("Question").fill("Still here?")
    page.get_by_label("Cohort size", exact=True).fill("50")
    page.get_by_role("button", name="Preview").click()
    page.locator("button[name=take]").first.click()
    expect(page.get_by_label("Question")).to_have_value("Still here?")


def test_phone_shows_the_preview_in_one_line_at_the_bottom(visit: Visit) -> None:
    visitor = signed_in(visit, viewport=PHONE, color_scheme="dark")
    page = visitor.open(NEW)
    line = page.locator("#preview-line")
    expect(line).to_be_in_viewport()
    before = line.inner_text()
    assert before.startswith("± ")
    page.get_by_label("Privacy loss (ε)", exact=True).fill("4")
    expect(line).not_to_have_text(before)
    assert violations(visitor) == []
    # An empty optional limit has no slider, which would stand somewhere.
    page.get_by_text("More: Failure probability").click()
    slider = page.get_by_label("Limit for the result's privacy loss (ε), slider")
    expect(slider).to_be_hidden()
    page.get_by_label("Limit for the result's privacy loss (ε)").first.fill("3")
    expect(slider).to_be_visible()


def test_recipe_is_asked_again_with_marks_as_they_are_made(visit: Visit) -> None:
    recipe = published_recipe(cohort_size=100)
    visitor = signed_in(visit)
    page = visitor.open(reverse("recipe", args=[recipe.identifier]))
    page.get_by_role("link", name="Ask again").click()
    expect(page.get_by_label("Name")).to_have_value("Crash counter")
    page.get_by_label("Privacy loss (ε)", exact=True).fill("1.5")
    expect(page.get_by_text("Changed; it was 2.")).to_be_visible()
    page.get_by_label("Name").press("Enter")
    expect(page.get_by_role("heading", name="Changed from Crash counter")).to_be_visible()
    assert violations(visitor) == []


def test_progress_goes_on_beyond_the_cohort_and_the_plan_stays_beside_the_result(visit: Visit) -> None:
    # The first band beyond a cohort of 2 is 20.
    recipe = open_recipe([1] * 21, cohort_size=2, population_size=400, target_margin=1)
    visitor = visit(viewport=PHONE)
    page = visitor.open(reverse("recipe", args=[recipe.identifier]))
    expect(page.locator("#progress")).to_contain_text("At least 20")
    expect(page.get_by_text("Closing now: about ± ")).to_be_visible()
    planned = page.get_by_text("Planned: ± ").first.inner_text()
    assert violations(visitor) == []
    finish(recipe)
    visitor.open(reverse("recipe", args=[recipe.identifier]))
    expect(page.get_by_text("Planned: ± ").first).to_have_text(planned)
    assert violations(visitor) == []


def test_log_missing_pages_and_api_are_readable_in_the_dark_on_a_phone(visit: Visit) -> None:
    recipe = published_recipe(name="Crash" * 20)
    visitor = signed_in(visit, viewport=PHONE, color_scheme="dark")
    page = visitor.open("/audit/?q=crashcrash")
    page.get_by_role("link", name="Crash" * 20).first.click()
    expect(page).to_have_url(f"{visitor.address}{reverse('recipe', args=[recipe.identifier])}")
    for path in ("/audit/", "/audit/2/", "/populations/everyone/", "/sign-out-everywhere/"):
        visitor.open(path)
        assert violations(visitor) == [], path
    visitor.open("/populations/nowhere/")
    expect(page.get_by_role("heading", level=1)).to_have_text("There is no such population")
    assert violations(visitor) == []
    # Chromium itself says of every 404 that it is one.
    visitor.complaints[:] = [said for said in visitor.complaints if "404 (Not Found)" not in said]
    visitor.open("/api/docs/")
    expect(page.locator(".opblock").first).to_be_visible()
    expect(page.get_by_role("navigation", name="Main")).to_be_visible()


@pytest.mark.parametrize("script", [True, False])
def test_account_menu_leads_to_signing_out_everywhere(visit: Visit, script: bool) -> None:
    visitor = signed_in(visit, java_script_enabled=script)
    page = visitor.page
    page.get_by_text("Account").click()
    expect(page.get_by_role("link", name="Change your password")).to_be_visible()
    page.get_by_role("link", name="Sign out everywhere").click()
    page.get_by_label("Your password").fill(PASSWORD)
    page.get_by_role("main").get_by_role("button", name="Sign out everywhere").click()
    expect(page.get_by_text("You are signed out everywhere.")).to_be_visible()

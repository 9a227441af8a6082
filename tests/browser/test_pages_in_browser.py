import re
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.urls import reverse
from playwright.sync_api import expect

from recipes.models import Recipe
from tests.factories import report_of_count
from tests.scenes import PASSWORD, analyst, open_recipe, simulated_recipe

from .accessibility import violations
from .conftest import Visitor

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

Visit = Callable[..., Visitor]


def recipe_path(recipe: Recipe) -> str:
    return reverse("recipe", args=[recipe.identifier])


@pytest.mark.parametrize("path", ["/nothing/", "/?before=x", "/audit/"])
def test_error_pages_are_accessible(visit: Visit, path: str) -> None:
    User.objects.create_user("passerby", password=PASSWORD)
    visitor = visit()
    visitor.sign_in("passerby", PASSWORD)
    visitor.open(path)
    assert violations(visitor) == []
    expect(visitor.page.get_by_text(re.compile("Error 40[034]"))).to_be_visible()
    # The browser itself reports the status of the page that was asked for, and nothing else.
    assert len(visitor.complaints) == 1
    assert "Failed to load resource" in visitor.complaints.pop()


def test_chart_is_drawn_in_the_colours_of_the_mode(visit: Visit) -> None:
    recipe = simulated_recipe({0: 40, 1: 20})
    colours = {"light": "rgb(0, 114, 178)", "dark": "rgb(86, 180, 233)"}
    visitor = visit(color_scheme="light")
    page = visitor.open(recipe_path(recipe))
    drawing = page.locator(".chart svg.drawing").first
    for scheme, colour in colours.items():
        page.emulate_media(color_scheme=scheme)
        expect(drawing.locator("g.estimate").first).to_have_css("color", colour)
    page.get_by_role("button", name="Explore the chart").click()
    expect(drawing).to_be_hidden()
    for scheme, colour in colours.items():
        page.emulate_media(color_scheme=scheme)
        expect(page.locator(".chart .scatterlayer .points path").first).to_have_css("stroke", colour)
    legend = page.locator(".chart .legendtext").all_text_contents()
    assert [text.strip() for text in legend] == [
        "95% interval",
        "66% interval",
        "estimate",
        "truth (simulation only)",
    ]
    expect(page.locator("[data-title*='loud'], [data-title*='Produced']")).to_have_count(0)
    page.get_by_role("button", name="Show the simple chart").click()
    expect(drawing).to_be_visible()


def test_nothing_of_plotly_is_loaded_before_somebody_looks_closely(visit: Visit) -> None:
    recipe = simulated_recipe({0: 40, 1: 20})
    visitor = visit()
    asked: list[str] = []
    visitor.page.on("request", lambda request: asked.append(request.url))
    page = visitor.open(recipe_path(recipe))
    expect(page.get_by_role("button", name="Explore the chart")).to_be_visible()
    assert not [url for url in asked if "plotly" in url]
    page.get_by_role("button", name="Explore the chart").press("Enter")
    # On a busy machine, five megabytes of script take a while.
    expect(page.locator(".plot .main-svg").first).to_be_visible()
    assert len([url for url in asked if "plotly" in url]) == 1
    assert violations(visitor) == []


def test_analyst_drafts_previews_and_publishes(visit: Visit) -> None:
    analyst()
    visitor = visit()
    visitor.sign_in("ana", PASSWORD)
    page = visitor.open(reverse("recipe-new"))
    page.get_by_role("link", name="Devices with at least one event").click()
    page.get_by_label("Name").fill("Crashes")
    page.get_by_label("Question").fill("On how many devices did it crash?")
    expect(page.locator("#preview .figure-large")).to_have_text(re.compile("± 190"))
    epsilon = page.get_by_label("Privacy loss (ε)", exact=True)
    epsilon.fill("2")
    expect(page.locator("#preview .figure-large")).to_have_text(re.compile("± 84"))
    # What is promised follows by itself.
    expect(page.locator("#preview")).to_contain_text("at most 88% sure")
    expect(page.locator("#preview")).to_contain_text("would take")
    epsilon.fill("0")
    expect(page.locator("#preview-problem")).to_contain_text("ε")
    expect(page.locator("#preview-problem .previous")).to_be_visible()
    # The last figures stay. Where there were none, nothing is said of them.
    expect(page.locator("#preview .figure-large")).to_have_text(re.compile("± 84"))
    page.evaluate("document.querySelector('#preview-figures').replaceChildren()")
    expect(page.locator("#preview-problem .previous")).to_be_hidden()
    epsilon.fill("1")
    expect(page.locator("#preview-problem")).to_be_empty()
    page.get_by_role("button", name="Save as draft").click()
    expect(page.get_by_text("This cannot be edited once it is published.")).to_be_visible()
    page.get_by_role("button", name="Publish for good").click()
    expect(page.get_by_role("button", name="Copy the identifier")).to_be_visible()
    expect(page.get_by_role("heading", level=1)).to_have_text("On how many devices did it crash?")
    assert Recipe.objects.get().status == "published"


def test_analyst_names_event_and_values_by_keyboard_and_loses_nothing_by_a_mistake(visit: Visit) -> None:
    analyst()
    visitor = visit(viewport={"width": 390, "height": 900})
    visitor.sign_in("ana", PASSWORD)
    page = visitor.open(f"{reverse('recipe-new')}?statistic=histogram")
    page.get_by_label("Name").fill("Forms")
    page.get_by_label("Question").fill("How often was the form opened?")
    page.get_by_label("Last bucket (k)", exact=True).fill("2")
    page.get_by_label("Event", exact=False).first.fill("form.opened")
    labels = page.get_by_role("textbox", name="Labels")
    expect(labels).to_be_hidden()
    page.locator("summary", has_text="labels").press("Enter")
    expect(labels).to_be_visible()
    labels.fill("never\nonce")
    page.get_by_role("button", name="Save as draft").click()
    expect(page.locator("#id_labels_error")).to_have_text(
        "Must be 3, one for each value from “0 events” to “2 or more events”, not 2."
    )
    expect(labels).to_have_value("never\nonce")
    assert violations(visitor) == []
    labels.fill("never\nonce\ntwice or more")
    page.get_by_role("button", name="Save as draft").click()
    expect(page.get_by_text("never; once; twice or more")).to_be_visible()
    page.get_by_role("button", name="Publish for good").click()
    expect(page.get_by_role("button", name="Copy the identifier")).to_be_visible()
    expect(page.locator(".lead")).to_contain_text("form.opened")
    assert Recipe.objects.get().published.event.labels == ("never", "once", "twice or more")
    # A refused form is what the browser calls an error.
    visitor.complaints = [said for said in visitor.complaints if "422" not in said]


def test_slider_and_number_box_follow_each_other(visit: Visit) -> None:
    analyst()
    visitor = visit()
    visitor.sign_in("ana", PASSWORD)
    page = visitor.open(f"{reverse('recipe-new')}?statistic=count_nonzero")
    slider, box = (
        page.get_by_label("Privacy loss (ε), slider", exact=True),
        page.get_by_label("Privacy loss (ε)", exact=True),
    )
    at_one = float(slider.input_value())
    box.fill("10")
    assert float(slider.input_value()) > at_one
    slider.focus()
    slider.press("Home")
    assert float(box.input_value()) == pytest.approx(0.01)
    slider.press("End")
    assert box.input_value() == "20"
    expect(page.locator("#preview-problem")).to_be_empty()


def test_search_narrows_the_list_while_typing_and_the_address_keeps_it(visit: Visit) -> None:
    open_recipe(question="Did it crash?", name="one")
    open_recipe(question="Was it slow?", name="two")
    visitor = visit()
    page = visitor.open("/")
    page.get_by_label("Search").press_sequentially("slow")
    expect(page.locator(".card")).to_have_count(1)
    expect(page).to_have_url(re.compile("q=slow"))
    page.reload()
    expect(page.locator(".card")).to_have_count(1)
    expect(page.get_by_label("Search")).to_have_value("slow")


def test_progress_follows_without_reloading(visit: Visit) -> None:
    from reports.operations import reports_submit

    recipe = open_recipe([1] * 20, cohort_size=400)
    visitor = visit()
    page = visitor.open(recipe_path(recipe))
    status = page.locator("#progress [role=status]")
    expect(status).to_contain_text("About 20 of 400")
    reports_submit(
        recipe=recipe, reports=[report_of_count(recipe, 1) for _ in range(30)], decode=lambda raw: raw
    )
    expect(status).to_contain_text("About 50 of 400")


def test_everything_works_without_scripts(visit: Visit) -> None:
    analyst()
    released = simulated_recipe({0: 40, 1: 20})
    visitor = visit(java_script_enabled=False)
    page = visitor.open(recipe_path(released))
    expect(page.get_by_role("table", name=re.compile("Estimates in devices"))).to_be_visible()
    expect(page.locator(".chart").get_by_role("img")).to_be_visible()
    visitor.sign_in("ana", PASSWORD)
    page = visitor.open("/?q=nowhere")
    expect(page.get_by_text("No recipe matches: search “nowhere”.")).to_be_visible()
    page = visitor.open(f"{reverse('recipe-new')}?statistic=histogram")
    page.get_by_label("Privacy loss (ε)", exact=True).fill("3")
    before = page.locator("#preview .figure-large").inner_text()
    page.get_by_role("button", name="Preview").click()
    expect(page.locator("#preview .figure-large")).not_to_have_text(before)
    expect(page.get_by_label("Privacy loss (ε)", exact=True)).to_have_value("3")
    page.get_by_label("Name").fill("Crashes")
    page.get_by_label("Question").fill("How often?")
    page.get_by_role("button", name="Save as draft").click()
    page.get_by_role("button", name="Publish for good").click()
    page.get_by_role("link", name="Close it now").click()
    page.get_by_role("button", name="Close it for good").click()
    expect(page.get_by_text("Recipe closed")).to_be_visible()
    assert Recipe.objects.get(question="How often?").status == "closed"
    page = visitor.open("/audit/")
    page.get_by_role("link", name="Check the log").click()
    expect(page.get_by_text("entries match their hashes")).to_be_visible()


def test_identifier_is_copied(visit: Visit, live_server: Any) -> None:
    recipe = open_recipe()
    visitor = visit(permissions=["clipboard-read", "clipboard-write"])
    page = visitor.open(recipe_path(recipe))
    page.get_by_role("button", name="Copy the identifier").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == recipe.identifier


def test_keyboard_reaches_content_and_controls_first(visit: Visit) -> None:
    open_recipe()
    visitor = visit()
    page = visitor.open("/")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to content")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#main")).to_be_focused()

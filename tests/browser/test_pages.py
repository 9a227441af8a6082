import html
import re
from collections.abc import Callable
from typing import Any

import pytest
import yaml
from django.conf import settings
from django.contrib.auth.models import User
from django.urls import reverse
from playwright.sync_api import Locator, Page, expect

from log.public_log.tree_growth import integrate
from pages.new.goals import GOALS
from recipes.models import Recipe
from series.models import Series
from tests.browser.test_every_page import PHONE
from tests.collections.pages.scene import TABS
from tests.factories import raw_reports_submit, report_of_count
from tests.scenes import (
    PASSWORD,
    analyst,
    announced,
    closed_stream,
    finished_recipe,
    open_recipe,
    open_stream,
    simulated_recipe,
)

from .accessibility import violations
from .conftest import Visitor

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

Visit = Callable[..., Visitor]


def recipe_path(recipe: Recipe, tab: str = "recipe") -> str:
    return reverse(tab, args=[recipe.identifier])


def tab_link(page: Page, name: str) -> Locator:
    """The link to a part of a recipe's page."""
    return page.get_by_role("navigation", name="Parts of this recipe").get_by_role("link", name=name)


@pytest.mark.parametrize("path", ["/nothing/", "/?page=x", "/audit/"])
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


def test_chart_has_the_colours_of_the_mode_and_loads_plotly_when_explored(visit: Visit) -> None:
    recipe = simulated_recipe({0: 40, 1: 20})
    colours = {"light": "rgb(0, 114, 178)", "dark": "rgb(86, 180, 233)"}
    visitor = visit(color_scheme="light")
    asked: list[str] = []
    visitor.page.on("request", lambda request: asked.append(request.url))
    page = visitor.open(recipe_path(recipe))
    drawing = page.locator(".chart svg.drawing").first
    for scheme, colour in colours.items():
        page.emulate_media(color_scheme=scheme)
        expect(drawing.locator("g.estimate").first).to_have_css("color", colour)
    assert not [url for url in asked if "plotly" in url]
    page.get_by_role("button", name="Explore the chart").press("Enter")
    # On a busy machine, five megabytes of script take a while.
    expect(drawing).to_be_hidden()
    for scheme, colour in colours.items():
        page.emulate_media(color_scheme=scheme)
        expect(page.locator(".chart .scatterlayer .points path").first).to_have_css("stroke", colour)
    assert len([url for url in asked if "plotly" in url]) == 1
    assert violations(visitor) == []
    legend = page.locator(".chart .legendtext").all_text_contents()
    shown = ["95% interval", "66% interval", "estimate", "truth (simulation only)"]
    assert [text.strip() for text in legend] == shown
    expect(page.locator("[data-title*='loud'], [data-title*='Produced']")).to_have_count(0)
    page.get_by_role("button", name="Show the simple chart").click()
    expect(drawing).to_be_visible()


def box(page: Page, selector: str) -> dict[str, float]:
    found: dict[str, float] = page.locator(selector).first.evaluate(
        "(one) => { const { left, top, right, bottom } = one.getBoundingClientRect();"
        " return { left, top, right, bottom }; }"
    )
    return found


@pytest.mark.parametrize("width", [1280, 400])
def test_pointer_makes_a_chart_interactive_without_moving_the_page(visit: Visit, width: int) -> None:
    recipe = simulated_recipe({0: 40, 1: 20})
    visitor = visit(viewport={"width": width, "height": 900})
    page = visitor.open(recipe_path(recipe))
    chart = page.locator(".chart").first
    chart.scroll_into_view_if_needed()
    height = page.evaluate("document.documentElement.scrollHeight")
    at = box(page, ".chart > .explore")
    chart.locator(".drawn:visible").hover()
    expect(chart).to_have_class("chart explored")
    assert page.evaluate("document.documentElement.scrollHeight") == pytest.approx(height, abs=1)
    assert box(page, ".chart > .explore") == pytest.approx(at, abs=1)
    bar = box(page, ".chart .modebar")
    assert bar["right"] - bar["left"] > 0
    for covered in (".chart .nsewdrag", ".chart .legend .bg"):
        other = box(page, covered)
        assert bar["left"] >= other["right"] or bar["top"] >= other["bottom"]
    # Chosen: the pointer, which is still there, changes it no more.
    chart.get_by_role("button", name="Show the simple chart").click()
    page.mouse.move(1, 1)
    chart.locator(".drawn:visible").hover()
    page.wait_for_timeout(500)
    expect(chart).to_have_class("chart")
    assert visitor.complaints == []


def test_keyboard_makes_a_chart_interactive_and_keeps_its_place(visit: Visit) -> None:
    page = visit().open(recipe_path(simulated_recipe({0: 40, 1: 20})))
    button = page.locator(".chart > .explore > button").first
    while not button.evaluate("(one) => one === document.activeElement"):
        page.keyboard.press("Tab")
    expect(button).to_have_text("Show the simple chart")
    expect(button).to_be_focused()


def test_administrators_navigation_at_1280_is_one_line(visit: Visit) -> None:
    User.objects.create_superuser("administrator-with-a-name", password=PASSWORD)
    visitor = visit(viewport={"width": 1280, "height": 900})
    visitor.sign_in("administrator-with-a-name", PASSWORD)
    page = visitor.open("/")
    tops = page.locator(".bar > *").evaluate_all(
        "(all) => all.map((one) => one.getBoundingClientRect()).map(({ top, bottom }) => (top + bottom) / 2)"
    )
    assert max(tops) - min(tops) < 4
    assert box(page, ".bar")["bottom"] - box(page, ".bar")["top"] < 64


def test_analyst_drafts_previews_and_publishes(visit: Visit) -> None:
    page = analysts(visit).open(reverse("recipe-new"))
    page.get_by_role("link", name="Devices with at least one event").click()
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
    expect(page.get_by_role("heading", level=1)).to_have_text("On how many devices did it crash?")
    expect(page.get_by_role("heading", name="Progress")).to_be_visible()
    tab_link(page, "Verify").click()
    page.get_by_text("Without it").click()
    expect(page.get_by_role("button", name="Copy the identifier")).to_be_visible()
    assert Recipe.objects.get().status == "published"


def test_answer_for_values_that_have_changed_is_dropped(visit: Visit) -> None:
    page = analysts(visit).open(f"{reverse('recipe-new')}?statistic=count_nonzero")
    figures = page.locator("#preview .figure-large")
    epsilon = page.get_by_label("Privacy loss (ε)", exact=True)
    held: list[Any] = []
    page.route(promises := f"**{reverse('recipe-promise')}*", lambda route: held.append(route))
    epsilon.fill("2")
    expect(figures).to_have_text(re.compile("± 84"))
    epsilon.fill("1")
    expect(figures).to_have_text(re.compile("± 190"))
    expect(page.locator("#promise")).to_contain_text("being computed")
    with page.expect_response(promises) as answered:
        held[0].continue_()
    answered.value.finished()
    expect(page.locator("#promise")).to_contain_text("being computed")
    page.unroute(promises)
    epsilon.fill("2")
    expect(page.locator("#preview")).to_contain_text("at most 88% sure")


def test_slider_and_number_box_follow_each_other(visit: Visit) -> None:
    page = analysts(visit).open(f"{reverse('recipe-new')}?statistic=count_nonzero")
    slider = page.get_by_label("Privacy loss (ε), slider", exact=True)
    box = page.get_by_label("Privacy loss (ε)", exact=True)
    at_one = float(slider.input_value())
    box.fill("10")
    assert float(slider.input_value()) > at_one
    slider.focus()
    slider.press("Home")
    assert float(box.input_value()) == pytest.approx(0.01)
    slider.press("End")
    assert box.input_value() == "20"
    expect(page.locator("#preview-problem")).to_be_empty()


def test_search_follows_typing_and_the_keyboard_reaches_content_first(visit: Visit) -> None:
    open_recipe(question="Did it crash?", name="one")
    open_recipe(question="Was it slow?", name="two")
    page = visit().open("/")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to content")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#main")).to_be_focused()
    page.get_by_label("Search").press_sequentially("slow")
    expect(page.locator(".card")).to_have_count(1)
    expect(page).to_have_url(re.compile("q=slow"))
    page.reload()
    expect(page.locator(".card")).to_have_count(1)
    expect(page.get_by_label("Search")).to_have_value("slow")


def test_progress_follows_without_reloading_and_the_identifier_is_copied(visit: Visit) -> None:
    recipe = open_recipe([1] * 20, cohort_size=400)
    page = visit(permissions=["clipboard-read", "clipboard-write"]).open(recipe_path(recipe))
    status = page.locator("#progress [role=status]")
    expect(status).to_contain_text("About 20 of 400")
    raw_reports_submit(recipe=recipe, reports=[report_of_count(recipe, 1) for _ in range(30)])
    expect(status).to_contain_text("About 50 of 400")
    tab_link(page, "Verify").click()
    page.get_by_text("Without it").click()
    page.get_by_role("button", name="Copy the identifier").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == recipe.identifier


def test_everything_works_without_scripts(visit: Visit) -> None:
    analyst()
    released = simulated_recipe({0: 40, 1: 20})
    visitor = visit(java_script_enabled=False)
    page = visitor.open(recipe_path(released))
    page.get_by_text("Table of estimates").click()
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
    page.get_by_label("Question").fill("How often?")
    page.get_by_role("button", name="Save as draft").click()
    page.get_by_role("button", name="Publish for good").click()
    page.get_by_role("link", name="Close it now").click()
    page.get_by_role("button", name="Close it for good").click()
    tab_link(page, "Verify").click()
    expect(page.get_by_text("Recipe closed")).to_be_visible()
    assert Recipe.objects.get(question="How often?").status == "closed"
    page = visitor.open("/audit/")
    page.get_by_role("link", name="Check the log").click()
    expect(page.get_by_text("entries match their hashes")).to_be_visible()


@pytest.mark.parametrize(
    "options",
    [{"java_script_enabled": False}, {"viewport": PHONE, "color_scheme": "dark"}],
    ids=["without JavaScript", "on a dark phone"],
)
def test_results_chosen_on_the_home_page_are_compared(visit: Visit, options: dict[str, object]) -> None:
    for having in (10, 30, 50):
        finished_recipe([[1]] * having + [[0]] * (60 - having), epsilon=8.0, event="crash")
    finished_recipe([[1]] * 40, epsilon=8.0, event="start", question="Did it start?")
    visitor = visit(**options)
    page = visitor.open("/?event=crash")
    for box in page.get_by_role("checkbox", name="Compare").all():
        box.check()
    page.get_by_role("button", name="Compare the chosen results").click()
    expect(page.get_by_role("heading", name="Compare results")).to_be_visible()
    expect(page.get_by_text("more than noise.")).to_have_count(2)
    expect(page.locator("#differences-chart svg:visible")).to_have_count(1)
    if "viewport" in options:
        assert violations(visitor) == []
    page.get_by_role("link", name="Leave out result 3").click()
    page.get_by_text("Other results").click()
    page.get_by_role("checkbox", name="Did it start?").check()
    page.get_by_role("button", name="Compare", exact=True).click()
    expect(page.get_by_text("Another event: start, not crash.")).to_be_visible()


def test_phone_shows_the_preview_in_one_line_at_the_bottom(visit: Visit) -> None:
    visitor = analysts(visit, viewport=PHONE, color_scheme="dark")
    page = visitor.open("/recipes/new/?statistic=count_nonzero")
    line = page.locator("#preview-line")
    expect(line).to_be_in_viewport()
    before = line.inner_text()
    assert before.startswith("± ")
    page.get_by_label("Privacy loss (ε)", exact=True).fill("4")
    expect(line).not_to_have_text(before)
    assert violations(visitor) == []
    # An empty optional limit has no slider, which would stand somewhere.
    page.get_by_text("All settings").click()
    slider = page.get_by_label("Limit for the result's privacy loss (ε), slider")
    expect(slider).to_be_hidden()
    page.get_by_label("Limit for the result's privacy loss (ε)").first.fill("3")
    expect(slider).to_be_visible()


def test_the_line_to_paste_names_a_picture_that_stands_for_itself(visit: Visit) -> None:
    """Another site cannot be tried here: browsers keep pages of elsewhere from servers on this machine."""
    page = visit().open(recipe_path(finished_recipe([[1]] * 30)))
    page.get_by_text("Show this result elsewhere").click()
    line = page.locator("#embed-code").inner_text()
    page.goto(line.split('"')[1])
    words = page.locator("svg desc").text_content() or ""
    assert "(95%)" in words
    assert words in html.unescape(line)
    size = page.locator("svg").bounding_box()
    assert size is not None
    assert size["width"] > 300
    expect(page.get_by_text("95% interval")).to_be_visible()


def test_tables_on_a_narrow_screen_stack_or_show_that_there_is_more(visit: Visit) -> None:
    looked, released = announced(open_stream(range(300))), closed_stream(open_stream(range(700)))
    visitor = visit(viewport={"width": 400, "height": 900})
    paths = [recipe_path(looked, "recipe-privacy"), recipe_path(released), "/populations/everyone/"]
    for path in paths:
        page = visitor.open(path)
        page.locator("main details").evaluate_all("all => all.forEach(each => { each.open = true; })")
        widths = "boxes => boxes.map(box => box.scrollWidth - box.clientWidth)"
        hidden = page.locator(".scroll").evaluate_all(widths)
        assert max(hidden) == 0, path
    wide = visitor.open(reverse("papers")).locator(".scroll").first
    assert wide.evaluate("box => box.scrollWidth > box.clientWidth")
    shadows = wide.evaluate("box => getComputedStyle(box).backgroundAttachment")
    assert shadows == "local, local, scroll, scroll"


VISIBLE_WORDS = """() => {
  const texts = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
  let words = 0;
  while (texts.nextNode()) {
    const seen = texts.currentNode.parentElement.checkVisibility({ visibilityProperty: true });
    words += seen ? (texts.currentNode.textContent.match(/\\S+/g) ?? []).length : 0;
  }
  return words;
}"""
"""How many words a page shows: none of closed details."""


BY_SEGMENT: dict[str, tuple[dict[str, Any], int]] = {
    "funnel": ({"event": None, "events": ["search", "open", "buy", "review"], "steps": 4}, 5),
    "both": ({"event": None, "events": ["search", "buy"], "steps": 4}, 4),
}
"""Questions that have a curve, and that have none: fields of the recipe, and how many cells a segment has."""


def test_no_tab_of_a_recipe_shows_many_words(visit: Visit) -> None:
    visitor = visit()
    opened, released = open_recipe([1] * 6), finished_recipe([[1]] * 30)
    integrate()
    for recipe in (opened, released):
        for tab in TABS:
            page = visitor.open(recipe_path(recipe, tab))
            page.wait_for_load_state("networkidle")
            most = 250 if (recipe, tab) == (released, "recipe") else 350
            assert 20 < page.evaluate(VISIBLE_WORDS) <= most, (recipe.status, tab)


@pytest.mark.parametrize("statistic", BY_SEGMENT)
def test_question_by_five_segments_fits_a_phone_in_few_words(visit: Visit, statistic: str) -> None:
    members, cells = BY_SEGMENT[statistic]
    labels = ["Android 14", "Android 15", "iOS 17", "iOS 18", "Web"]
    values = range(len(labels) * cells)
    rows = [[int(at == cell) for at in values] for cell in values for _ in range(10 + cell % 7)]
    members |= {"statistic": statistic, "segments": labels, "cohort_size": 20, "epsilon": 12.0}
    recipe = finished_recipe(rows, simulation=True, **members)
    page = visit(viewport={"width": 400, "height": 900}).open(recipe_path(recipe))
    page.wait_for_load_state("networkidle")
    assert page.get_by_label("Answer by segment").locator("tbody tr").count() == len(labels)
    assert page.evaluate("document.documentElement.scrollHeight") < 4_000
    assert page.evaluate(VISIBLE_WORDS) <= 250
    page.locator("main details").evaluate_all("all => all.forEach(each => { each.open = true; })")
    widths = "boxes => boxes.map(box => box.scrollWidth - box.clientWidth)"
    assert max(page.locator(".scroll").evaluate_all(widths)) == 0


@pytest.mark.parametrize("goal", GOALS)
def test_form_of_a_goal_shows_few_words_and_fields(visit: Visit, goal: str) -> None:
    page = analysts(visit).open(reverse("goal", args=[goal]))
    assert page.evaluate(VISIBLE_WORDS) <= 300
    fields = page.locator("main :is(input:not([type=hidden], [type=range]), select, textarea)")
    assert sum(field.is_visible() for field in fields.all()) <= 10


def test_weekly_crash_rate_by_version_takes_four_clicks_and_three_fields(visit: Visit) -> None:
    page = analysts(visit).open("/")
    page.get_by_role("navigation", name="Main").get_by_role("link", name="New").click()
    page.get_by_role("link", name="Which version is worse?").click()
    page.get_by_label("Question").fill("On how many devices did it crash?")
    page.get_by_label("Event", exact=True).fill("crash")
    page.get_by_label("Versions").fill("2.0\n2.1")
    page.get_by_role("button", name="Save as draft").click()
    expect(page.get_by_text("Effect of all rounds on the budget")).to_be_visible()
    page.get_by_role("button", name="Publish for good").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("On how many devices did it crash?")
    assert Series.objects.get().draft["segments"] == ["2.0", "2.1"]


def test_api_documentation_shows_every_operation_under_our_policy(visit: Visit) -> None:
    # That nothing was blocked, and nothing asked for elsewhere, is what `visit` checks at the end.
    visitor = visit()
    answer = visitor.page.goto(f"{visitor.address}{reverse('api-docs')}")
    assert answer is not None
    assert "script-src 'self'" in answer.headers["content-security-policy"]
    paths = yaml.safe_load((settings.BASE_DIR / "docs" / "openapi.yaml").read_text())["paths"]
    expect(visitor.page.locator(".opblock")).to_have_count(sum(map(len, paths.values())))
    visitor.page.get_by_text("Submit one report").click()
    expect(visitor.page.locator(".opblock-body")).to_contain_text("nonce")
    expect(visitor.page.locator(".opblock-summary-description:empty")).to_have_count(0)
    visitor.page.get_by_role("navigation", name="Main").get_by_role("link", name="Results").click()
    expect(visitor.page.get_by_role("heading", level=1)).to_have_text("Private telemetry")


def analysts(visit: Visit, **options: Any) -> Visitor:
    """An analyst's browser."""
    analyst()
    visitor = visit(**options)
    visitor.sign_in("ana", PASSWORD)
    return visitor

"""Home's filters and comparisons in a browser: with and without JavaScript, on a phone, in the dark."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from tests.factories import published_recipe
from tests.scenes import finished_recipe

from .accessibility import violations
from .conftest import Visitor
from .test_console_in_browser import PHONE

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

Visit = Callable[..., Visitor]


def results() -> None:
    for having in (10, 30, 50):
        finished_recipe([[1]] * having + [[0]] * (60 - having), epsilon=8.0, event="crash")
    finished_recipe([[1]] * 40, epsilon=8.0, event="start", question="Did it start?")


@pytest.mark.parametrize(
    "options",
    [{"java_script_enabled": False}, {"viewport": PHONE, "color_scheme": "dark"}],
    ids=["without JavaScript", "on a dark phone"],
)
def test_results_chosen_on_the_home_page_are_compared(visit: Visit, options: dict[str, object]) -> None:
    results()
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
    page.get_by_role("link", name="Compare all with result 2").click()
    expect(page.locator("tbody tr").first).to_contain_text("On how many devices did it crash?")


def test_filters_stand_in_the_address_and_are_cleared(visit: Visit) -> None:
    published_recipe(event="crash")
    published_recipe(question="Did it start?", event="start")
    visitor = visit()
    page = visitor.open("/")
    page.get_by_text("More filters").click()
    page.get_by_label("Event").fill("start")
    page.get_by_label("Event").press("Tab")
    expect(page.get_by_text("On how many devices did it crash?")).to_have_count(0)
    expect(page).to_have_url(re.compile("event=start"))
    page.reload()
    expect(page.get_by_label("Event")).to_have_value("start")
    page.get_by_label("Status").select_option("withheld")
    expect(page.get_by_text("No recipe matches: status Withheld, event start.")).to_be_visible()
    assert violations(visitor) == []
    page.get_by_role("link", name="Clear the filters").click()
    expect(page.get_by_text("On how many devices did it crash?")).to_be_visible()

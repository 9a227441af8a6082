import html
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.factories import published_recipe
from tests.scenes import PASSWORD, account, finished_recipe

from .accessibility import violations
from .conftest import Visitor

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

DARK_PHONE = {"color_scheme": "dark", "viewport": {"width": 400, "height": 900}}


@pytest.mark.parametrize("options", [DARK_PHONE, {"java_script_enabled": False}])
def test_a_recipe_is_repeated_marked_and_stopped(
    visit: Callable[..., Visitor], options: dict[str, Any]
) -> None:
    account("ana", "Analysts")
    recipe = published_recipe(question="How many devices crash?")
    visitor = visit(**options)
    visitor.sign_in("ana", PASSWORD)
    page = visitor.open(f"/recipes/{recipe.identifier}/")
    page.get_by_role("link", name="Repeat it …").click()
    page.get_by_label("How often").select_option("week")
    page.get_by_label("Rounds").fill("3")
    page.get_by_role("button", name="Publish the series").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("How many devices crash?")
    page.get_by_label("Mark the trend now").fill("version 2.1 released")
    page.get_by_role("button", name="Mark", exact=True).click()
    expect(page.get_by_role("listitem").filter(has_text="version 2.1 released")).to_be_visible()
    assert violations(visitor) == []
    page.get_by_role("button", name="Stop the series for good").click()
    expect(page.get_by_role("button", name="Stop the series for good")).to_have_count(0)


def test_the_line_to_paste_names_a_picture_that_stands_for_itself(visit: Callable[..., Visitor]) -> None:
    """Another site cannot be tried here: browsers keep pages of elsewhere from servers on this machine."""
    recipe = finished_recipe([[1]] * 30)
    visitor = visit()
    page = visitor.open(f"/recipes/{recipe.identifier}/")
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
